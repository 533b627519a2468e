/** What the page shows, as it stands in the URL: #process=4711&scope=root/shop&group=… */
export interface Route {
  process: string; // pid
  scope: string; // path, or key where two scopes have one path
  group: string; // key
  filter: string; // of threads
}

export function readRoute(hash: string): Route {
  const params = new URLSearchParams(hash.replace(/^#/, ""));
  return {
    process: params.get("process") ?? "",
    scope: params.get("scope") ?? "",
    group: params.get("group") ?? "",
    filter: params.get("filter") ?? "",
  };
}

export function writeRoute(route: Route): string {
  const parts: string[] = [];
  for (const [name, value] of Object.entries(route) as [string, string][]) {
    if (value) parts.push(`${name}=${encodeURIComponent(value).replaceAll("%2F", "/")}`);
  }
  return parts.length > 0 ? "#" + parts.join("&") : "";
}

/** What the user chose; auto: what the system prefers. */
export const choices = ["auto", "light", "dark", "contrast"] as const;
export type Choice = (typeof choices)[number];

const kept = "vtscope.theme"; // in localStorage

const preferences = ["(prefers-color-scheme: dark)", "(prefers-contrast: more)", "print"] as const;

/** chosenTheme is auto where the browser keeps nothing. */
export function chosenTheme(): Choice {
  try {
    return choices.find((c) => c === localStorage.getItem(kept)) ?? "auto";
  } catch {
    return "auto";
  }
}

/**
 * theme is the name of a block of page.css: light, dark, contrast-light or contrast-dark. High contrast is light or dark as the system prefers; what the system
 * forces on pages (forced-colors) page.css takes over by itself. Paper is light.
 */
export function theme(): string {
  const [dark, contrast, paper] = preferences.map((query) => matchMedia(query).matches);
  if (paper) return "light";
  const choice = chosenTheme();
  const shade = choice === "light" || choice === "dark" ? choice : dark ? "dark" : "light";
  return choice === "contrast" || (choice === "auto" && contrast) ? `contrast-${shade}` : shade;
}

const followers = new Set<() => void>();

/** applyTheme makes the page look so. */
export function applyTheme(): void {
  document.documentElement.dataset["theme"] = theme();
  for (const f of followers) f();
}

/** chooseTheme keeps a choice, for this browser. */
export function chooseTheme(choice: Choice): void {
  try {
    localStorage.setItem(kept, choice);
  } catch {
    // it is for this page alone, then
  }
  applyTheme();
}

/** followTheme calls f when the theme is another one, until what it returns is called. */
export function followTheme(f: () => void): () => void {
  followers.add(f);
  return () => followers.delete(f);
}

/** followPreferences applies what the system prefers from now on. */
export function followPreferences(): void {
  for (const query of preferences) matchMedia(query).addEventListener("change", applyTheme);
  addEventListener("storage", applyTheme); // another tab chose
}

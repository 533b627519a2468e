/** keep gives a file to the browser, under a name. */
export function keep(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob);
  const a = document.createElement("a");
  a.href = url;
  a.download = name;
  a.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000); // by then the browser has it
}

/** download lets the browser fetch a file from vtserve by itself, however large. */
export function download(path: string, name: string): void {
  const a = document.createElement("a");
  a.href = path;
  a.download = name;
  a.click();
}

/** A chart or another picture of the page. */
export interface Picture {
  title: string;
  canvas: HTMLCanvasElement;
}

/** pictures are those that the page has now. */
export function pictures(): Picture[] {
  return [...document.querySelectorAll<HTMLCanvasElement>("canvas")]
    .filter((c) => c.width > 0 && c.height > 0)
    .map((canvas) => ({ canvas, title: (canvas.closest("[aria-label]")?.getAttribute("aria-label") ?? "picture").replace(/[:,].*/, "") }));
}

/** savePicture writes a canvas as PNG, on the ground of the theme. */
export function savePicture({ canvas, title }: Picture): void {
  const copy = document.createElement("canvas");
  copy.width = canvas.width;
  copy.height = canvas.height;
  const to = copy.getContext("2d");
  if (!to) return;
  to.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--panel").trim();
  to.fillRect(0, 0, copy.width, copy.height);
  to.drawImage(canvas, 0, 0);
  copy.toBlob((blob) => blob && keep(blob, `${title.replaceAll(/[^a-z0-9]+/gi, "-")}.png`), "image/png");
}

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

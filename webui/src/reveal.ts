const shown = 2_500; // milliseconds for which a place stands out

/** reveal scrolls to the first place that there is of those that selectors name, and lets it stand out for a moment. */
export function reveal(...selectors: string[]): void {
  for (const selector of selectors) {
    const place = document.querySelector<HTMLElement>(selector);
    if (!place) continue;
    place.scrollIntoView({ block: "center" });
    place.classList.add("revealed");
    setTimeout(() => place.classList.remove("revealed"), shown);
    return;
  }
}

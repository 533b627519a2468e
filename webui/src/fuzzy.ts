/**
 * fuzzy is how well a text has the letters of a query in their order, whatever the case: the higher the better; null if it has not. Letters that follow each other
 * and those at the beginning of a word count more, and so do the same case and a short text. An empty query fits everything alike.
 */
export function fuzzy(query: string, text: string): number | null {
  const q = query.toLowerCase().replaceAll(" ", "");
  const t = text.toLowerCase();
  if (q === "") return 0;
  const whole = t.indexOf(query.toLowerCase().trim());
  if (whole >= 0) return 1_000 + (begins(t, whole) ? 100 : 0) + (text.includes(query.trim()) ? 20 : 0) - whole - t.length / 100;
  let score = 0;
  let at = -1;
  for (const letter of q) {
    const next = t.indexOf(letter, at + 1);
    if (next < 0) return null;
    score += next === at + 1 ? 6 : begins(t, next) ? 4 : -Math.min(3, next - at - 1);
    at = next;
  }
  return score - t.length / 100;
}

function begins(text: string, at: number): boolean {
  return at === 0 || !/[a-z0-9]/.test(text[at - 1] ?? "");
}

/** best are the items that fit, the best first; of those that fit alike the order stays. */
export function best<T>(query: string, items: readonly T[], text: (item: T) => string): T[] {
  return items
    .map((item) => ({ item, score: fuzzy(query, text(item)) }))
    .filter((x): x is { item: T; score: number } => x.score !== null)
    .sort((a, b) => b.score - a.score)
    .map((x) => x.item);
}

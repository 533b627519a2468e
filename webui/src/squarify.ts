/** A rectangle in pixels. */
export interface Box {
  x: number;
  y: number;
  w: number;
  h: number;
}

/**
 * squarify divides a box among sizes, which fall and are not negative, so that areas are as the sizes and sides as equal as they can be (Bruls, Huizing, van Wijk: Squarified
 * Treemaps, 2000). A size of 0 gets a box without area.
 */
export function squarify(sizes: number[], box: Box): Box[] {
  const sum = sizes.reduce((a, b) => a + b, 0);
  const boxes: Box[] = [];
  let { x, y, w, h } = box;
  const scale = sum > 0 ? (w * h) / sum : 0;
  for (let at = 0; at < sizes.length; ) {
    const side = Math.min(w, h);
    // Into this row as many as make the worst of it no worse.
    let end = at + 1;
    let area = (sizes[at] ?? 0) * scale;
    let worst = ratio(area, area, area, side);
    for (; end < sizes.length; end++) {
      const next = (sizes[end] ?? 0) * scale;
      const now = ratio((sizes[at] ?? 0) * scale, next, area + next, side);
      if (now > worst) break;
      worst = now;
      area += next;
    }
    const thick = side > 0 ? area / side : 0;
    let along = 0;
    for (let i = at; i < end; i++) {
      const long = thick > 0 ? ((sizes[i] ?? 0) * scale) / thick : 0;
      boxes.push(w >= h ? { x, y: y + along, w: thick, h: long } : { x: x + along, y, w: long, h: thick });
      along += long;
    }
    if (w >= h) [x, w] = [x + thick, w - thick];
    else [y, h] = [y + thick, h - thick];
    at = end;
  }
  return boxes;
}

/** ratio is the worst ratio of sides in a row of this area along a side, whose largest and smallest box are these. */
function ratio(largest: number, smallest: number, area: number, side: number): number {
  if (smallest <= 0 || area <= 0) return Infinity;
  return Math.max((side * side * largest) / (area * area), (area * area) / (side * side * smallest));
}

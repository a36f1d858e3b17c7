const STEPS = [1, 1.2, 1.6, 2, 3, 4, 5, 6, 8, 10];

/** The first round number at or above `value`. */
export function roundUp(value: number): number {
  if (value <= 0) return 1;
  const magnitude = 10 ** Math.floor(Math.log10(value));
  const step = STEPS.find((factor) => factor * magnitude >= value * 0.999) ?? 10;
  return step * magnitude;
}

/** Points as the `d` of a path; a missing value breaks the line. */
export function linePath(points: readonly (readonly [x: number, y: number] | undefined)[]): string {
  let path = '';
  let isOpen = false;
  for (const point of points) {
    if (point) path += `${isOpen ? 'L' : 'M'}${point[0].toFixed(1)} ${point[1].toFixed(1)}`;
    isOpen = point !== undefined;
  }
  return path;
}

/** The area between two lines of the same length. */
export function areaPath(
  top: readonly (readonly [x: number, y: number])[],
  bottom: readonly (readonly [x: number, y: number])[],
): string {
  if (top.length < 2) return '';
  const back = bottom.toReversed().map(([x, y]) => `L${x.toFixed(1)} ${y.toFixed(1)}`);
  return `${linePath(top)}${back.join('')}Z`;
}

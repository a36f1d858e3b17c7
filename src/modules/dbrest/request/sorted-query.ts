/** A raw query with its parameters sorted by name; the order of those with one name counts. */
export function sortedQuery(args: string): string {
  if (!args.includes('&')) return args;
  const nameOf = (pair: string): string => pair.split('=', 1)[0] as string;
  const pairs = args.split('&').map((pair) => [nameOf(pair), pair] as const);
  return pairs
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([, pair]) => pair)
    .join('&');
}

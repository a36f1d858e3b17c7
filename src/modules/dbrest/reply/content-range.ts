/** `first-last/total`, `*` for what there is none of or is not known (contract: "Reading"). */
export function contentRange(offset: number, rows: number): string {
  return rows === 0 ? '*/*' : `${offset}-${offset + rows - 1}/*`;
}

/** Takes the exit code of a command. */
export type Finish = (code: number) => void;

/** Collects the values of an option that may be repeated. */
export function collect(value: string, earlier: readonly string[] = []): readonly string[] {
  return [...earlier, value];
}

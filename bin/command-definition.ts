/** Takes the exit code of a command. */
export type Finish = (code: number) => void;

/** Collects the values of an option that may be repeated. */
export function collect(value: string, earlier: readonly string[] = []): readonly string[] {
  return [...earlier, value];
}

/** What a group of commands does without one of them: it shows what there is. */
const ALONE = new Map([
  ['flag', 'list'],
  ['events', 'list'],
  ['upstream', 'list'],
  ['cache', 'status'],
  ['cluster', 'status'],
]);

/** Returns a command line in which a group that stands alone has its command: `gw flag --json` is `gw flag list --json`. */
export function spelledOut(args: readonly string[]): readonly string[] {
  const [group = '', next = '-'] = args;
  const command = ALONE.get(group);
  const isAlone = next.startsWith('-') && next !== '-h' && next !== '--help';
  return command !== undefined && isAlone ? [group, command, ...args.slice(1)] : args;
}

import { directives, MODULE_NAMES, variables } from '../../src/lookups.ts';
import type { VariableFacts } from '../../src/lookups.ts';

/** How a listing is printed. */
export interface ListOptions {
  readonly json?: boolean;
  /** Of one module only. */
  readonly module?: string;
}

/** What can be listed. */
export type Listing = 'modules' | 'directives' | 'variables';

/** `gw list-modules`, `list-directives`, `list-variables`: name and what it is for, or all facts as JSON. */
export function list(what: Listing, { json, module }: ListOptions): number {
  const rows = LISTINGS[what]().filter((row) => module === undefined || row.module === module);
  if (rows.length === 0 && module !== undefined) {
    process.stderr.write(`gw: there is no module "${module}"\n`);
    return 2;
  }
  if (json === true) process.stdout.write(`${JSON.stringify(rows, undefined, 2)}\n`);
  else process.stdout.write(table(rows));
  return 0;
}

interface Row {
  readonly name: string;
  readonly module: string;
  readonly summary: string;
}

const LISTINGS: Readonly<Record<Listing, () => readonly Row[]>> = {
  modules,
  directives: () =>
    directives().map((facts) => ({
      ...facts,
      summary: facts.accepted === undefined ? facts.summary : `no effect: ${facts.accepted}`,
    })),
  variables: () => variables().map((facts: VariableFacts) => ({ ...facts, name: `$${facts.name}` })),
};

function modules(): readonly (Row & { directives: number; variables: number })[] {
  const [all, known] = [directives(), variables()];
  return MODULE_NAMES.map((name) => {
    const own = all.filter(({ module }) => module === name).length;
    const read = known.filter(({ module }) => module === name).length;
    const summary = `${own} directive${own === 1 ? '' : 's'}, ${read} variable${read === 1 ? '' : 's'}`;
    return { name, module: name, summary, directives: own, variables: read };
  });
}

function table(rows: readonly Row[]): string {
  const width = Math.max(...rows.map(({ name }) => name.length));
  return rows.map(({ name, summary }) => `${name.padEnd(width)}  ${summary}\n`).join('');
}

import { InvalidArgumentError } from 'commander';
import type { Command } from 'commander';
import type { BuildCommandOptions, JsonOptions, ParseCommandOptions } from './crossplane.ts';
import type { FmtOptions } from './fmt.ts';
import type { ListOptions } from './lists.ts';

type Finish = (code: number) => void;

const MOST_BLANKS = 16;

function blanks(value: string): number {
  if (!/^\d{1,2}$/.test(value) || Number(value) > MOST_BLANKS)
    throw new InvalidArgumentError(`expected 0 to ${MOST_BLANKS}.`);
  return Number(value);
}

/** The commands that work on the text of configurations. */
export function addConfigTools(gw: Command, finish: Finish): void {
  gw.command('fmt [files...]')
    .description('format configurations; without a file, standard input')
    .option('-w, --write', 'in place')
    .option('-d, --diff', 'show what would change')
    .option('--check', 'name the files that are not formatted')
    .option('-i, --indent <blanks>', 'blanks of one level', blanks, 4)
    .option('--tabs', 'indent by tabs')
    .action(async (files: string[], options: FmtOptions) => {
      finish((await import('./fmt.ts')).fmt(files, options));
    });
  addParse(gw, finish);
  addBuild(gw, finish);
  addLexing(gw, finish);
  addLookups(gw, finish);
}

/** The commands of crossplane have its options and its JSON. */
function addParse(gw: Command, finish: Finish): void {
  gw.command('parse <file>')
    .description("print a configuration as crossplane's JSON")
    .option('-o, --out <file>', 'write there')
    .option('-i, --indent <blanks>', 'indent the JSON', blanks)
    .option('--ignore <directives>', 'leave these out, separated by commas')
    .option('--no-catch', 'stop at the first fault')
    .option('--tb-onerror', 'put hints beside faults')
    .option('--combine', 'put everything into one file')
    .option('--single-file', 'do not read included files')
    .option('--include-comments', 'keep comments')
    .option('--strict', 'report everything that a start would refuse')
    .action(async (file: string, options: ParseCommandOptions) => {
      finish((await import('./crossplane.ts')).parse(file, options));
    });
}

function addBuild(gw: Command, finish: Finish): void {
  gw.command('build <file>')
    .description("write the files of crossplane's JSON")
    .option('-v, --verbose', 'name the files')
    .option('-d, --dir <directory>', 'where relative names start from')
    .option('-f, --force', 'replace files')
    .option('-i, --indent <blanks>', 'blanks of one level', blanks, 4)
    .option('-t, --tabs', 'indent by tabs')
    .option('--no-headers', 'without the first line that says where they come from')
    .option('--stdout', 'print instead')
    .action(async (file: string, options: BuildCommandOptions) => {
      finish((await import('./crossplane.ts')).build(file, options));
    });
}

function addLexing(gw: Command, finish: Finish): void {
  gw.command('lex <file>')
    .description('print the words and marks of a file as JSON')
    .option('-o, --out <file>', 'write there')
    .option('-i, --indent <blanks>', 'indent the JSON', blanks)
    .option('-n, --line-numbers', 'with their lines')
    .action(async (file: string, options: JsonOptions & { lineNumbers?: boolean }) => {
      finish((await import('./crossplane.ts')).lex(file, options));
    });
  gw.command('minify <file>')
    .description('print the shortest text of the same meaning')
    .option('-o, --out <file>', 'write there')
    .action(async (file: string, options: JsonOptions) => {
      finish((await import('./crossplane.ts')).minify(file, options));
    });
}

/** What gw knows, from its tables. */
function addLookups(gw: Command, finish: Finish): void {
  for (const what of ['modules', 'directives', 'variables'] as const) {
    gw.command(`list-${what}`)
      .description(`list all ${what}`)
      .option('--json', 'with all that is known of them')
      .option('-m, --module <name>', 'of one module')
      .action(async (options: ListOptions) => {
        finish((await import('./lists.ts')).list(what, options));
      });
  }
}

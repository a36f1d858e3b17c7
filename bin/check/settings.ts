import { type Compat, nearest } from '../../src/config/index.ts';
import type { RuleSeverity } from '../../src/contract/index.ts';
import {
  type Catalogue,
  type Format,
  FORMATS,
  FRAGMENT_CONTEXTS,
  isFormat,
  type ReviewOptions,
} from '../../src/tools/check/index.ts';

/** The options of `gw check` from commander. */
export interface CheckCommandOptions {
  readonly prefix?: string;
  readonly format?: readonly string[];
  readonly output?: string;
  readonly select?: readonly string[];
  readonly ignore?: readonly string[];
  readonly severity?: string;
  readonly failOn?: string;
  readonly strict?: boolean;
  readonly live?: boolean;
  readonly compat?: string;
  readonly context?: string;
  readonly stdinFilename?: string;
  readonly fix?: boolean;
  readonly unsafeFixes?: boolean;
  readonly diff?: boolean;
  readonly baseline?: string;
  /** True if no name is given. */
  readonly writeBaseline?: string | true;
}

/** A format and its destination: a file, or standard output. */
export interface Output {
  readonly format: Format;
  readonly file?: string;
}

/** The validated options of `gw check`. */
export interface CheckSettings extends Pick<
  CheckCommandOptions,
  'prefix' | 'context' | 'stdinFilename' | 'diff' | 'baseline'
> {
  readonly outputs: readonly Output[];
  readonly rules: ReviewOptions;
  /** The lowest severity that is shown. */
  readonly severity: RuleSeverity;
  readonly failOn: RuleSeverity | 'never';
  readonly compat?: Compat;
  readonly fixes: 'none' | 'safe' | 'all';
  readonly writeBaseline?: string;
}

const SEVERITIES: readonly RuleSeverity[] = ['error', 'warning', 'info'];
const FAIL_ON: readonly string[] = [...SEVERITIES, 'never'];
const DEFAULT_BASELINE = 'gw-baseline.json';

/** Thrown for a wrong command line; the message is the reason. */
export class UsageError extends Error {}

/** Validates the options. Throws a `UsageError`. */
export function settingsOf(options: CheckCommandOptions, catalogue: Catalogue): CheckSettings {
  const {
    prefix,
    context,
    stdinFilename,
    diff,
    baseline,
    strict = false,
    live = false,
    writeBaseline,
  } = options;
  const select = listOf(options.select);
  const ignore = listOf(options.ignore);
  for (const name of [...(select ?? []), ...(ignore ?? [])]) mustBeRule(name, catalogue);
  if (context !== undefined) {
    for (const name of context.split(',')) mustBe(name.trim(), FRAGMENT_CONTEXTS, 'context');
  }
  if (options.compat !== undefined) mustBe(options.compat, ['ignore', 'skip'], '--compat');
  const wantsFixes = options.fix === true || diff === true;
  return {
    ...(prefix !== undefined && { prefix }),
    ...(context !== undefined && { context }),
    ...(stdinFilename !== undefined && { stdinFilename }),
    ...(diff !== undefined && { diff }),
    ...(baseline !== undefined && { baseline }),
    ...(writeBaseline !== undefined && {
      writeBaseline: writeBaseline === true ? DEFAULT_BASELINE : writeBaseline,
    }),
    outputs: outputsOf(options),
    rules: { select, ignore, strict, live, fingerprints: true },
    severity: mustBe(options.severity ?? 'info', SEVERITIES, '--severity') as RuleSeverity,
    failOn: mustBe(options.failOn ?? (strict ? 'info' : 'warning'), FAIL_ON, '--fail-on') as RuleSeverity,
    ...(options.compat !== undefined && { compat: options.compat as Compat }),
    fixes: options.unsafeFixes === true ? 'all' : wantsFixes ? 'safe' : 'none',
  };
}

function listOf(given: readonly string[] | undefined): readonly string[] | undefined {
  return given
    ?.flatMap((list) => list.split(','))
    .map((name) => name.trim())
    .filter(Boolean);
}

function mustBeRule(name: string, catalogue: Catalogue): void {
  if (catalogue.has(name)) return;
  const near = catalogue.nearest(name);
  throw new UsageError(
    `there is no rule "${name}"${near === undefined ? '' : `\n  did you mean "${near}"?`}`,
  );
}

function mustBe(given: string, known: readonly string[], what: string): string {
  if (known.includes(given)) return given;
  const near = nearest(given, known);
  const hint = near === undefined ? `expected ${known.join(', ')}` : `did you mean "${near}"?`;
  throw new UsageError(`invalid ${what} "${given}"\n  ${hint}`);
}

/** Returns the outputs of `-f json` or `-f sarif:gw.sarif`; formats without a file go to `-o`. */
function outputsOf({ format, output }: CheckCommandOptions): readonly Output[] {
  const outputs = (format ?? [defaultFormat(output)]).map((given): Output => {
    const [, name = '', file] = /^([^:]*)(?::(.+))?$/.exec(given) ?? [];
    if (!isFormat(name)) mustBe(name, Object.keys(FORMATS), 'format');
    const to = file ?? output;
    return { format: name as Format, ...(to !== undefined && { file: to }) };
  });
  const shared = outputs.find(
    ({ file }, index) => outputs.findIndex((other) => other.file === file) !== index,
  );
  if (shared) throw new UsageError(`two formats go to ${shared.file ?? 'standard output'}`);
  return outputs;
}

function defaultFormat(output: string | undefined): Format {
  if (process.env['GITHUB_ACTIONS'] === 'true') return 'github';
  return output === undefined && process.stdout.isTTY ? 'human' : 'concise';
}

import { resolve } from 'node:path';
import { buildConfig, type Fault, formatConfig, type Statement } from '../../grammar/index.ts';
import { load } from '../../src/pipeline.ts';

const INDENT = '    ';

/** The line counter of all blocks of a draft: a comment with the line of a directive would be placed after it. */
interface Counter {
  line: number;
}

/** A block of a configuration that is being written. */
export class Draft {
  readonly statements: Statement[] = [];
  readonly #counter: Counter;

  constructor(counter: Counter = { line: 0 }) {
    this.#counter = counter;
  }

  /** Adds a directive without a block. */
  add(directive: string, ...args: readonly string[]): void {
    this.statements.push({ directive, args, line: ++this.#counter.line });
  }

  comment(text: string): void {
    this.statements.push({ directive: '#', args: [], comment: ` ${text}`, line: ++this.#counter.line });
  }

  block(directive: string, args: readonly string[], fill: (inner: Draft) => void): void {
    const line = ++this.#counter.line;
    const inner = new Draft(this.#counter);
    fill(inner);
    this.statements.push({ directive, args, block: inner.statements, line });
  }
}

/** Returns the text of a draft in the style of `gw fmt`. */
export function draftText({ statements }: Draft): string {
  const text = buildConfig(statements, { indent: INDENT });
  return formatConfig({ name: 'imported', text }, { indent: INDENT });
}

/** The result of importing another program's configuration. */
export interface ImportedConfig {
  readonly draft: Draft;
  /** Settings without a counterpart; comments in the text give the reasons. */
  readonly notCarried: readonly string[];
  /** Environment variables that must hold secrets, with descriptions. */
  readonly secrets: readonly { readonly variable: string; readonly of: string }[];
}

/** A setting in the file. */
export interface Setting {
  /** `db-uri`. */
  readonly key: string;
  readonly value: string;
  /** The environment variable, if the file lists variables: `PGRST_DB_URI`. */
  readonly variable?: string;
}

const KEYED = /^\s*([A-Za-z][\w.-]*)\s*=\s*(.*)$/;
const VARIABLE = /^\s*(?:-\s*|export\s+)?(["']?)PGRST_([A-Za-z0-9_]+)(["']?)\s*([=:])\s*(.*)$/;
const APP = 'APP_SETTINGS_';
/** A variable in YAML: its value may continue in lines that are indented more. */
const YAML_ITEM = /^\s*(?:-|["']?PGRST_\w+["']?\s*:)/;
/** Text in YAML in place of a value that is elsewhere: nothing, a block scalar, an anchor, an alias or a tag. */
const YAML_ELSEWHERE = /^(?:[|>][-+\d]*\s*)?(?:#.*)?$|^[&*!]\S/;
/** Text that may follow a quoted value. */
const END = /^\s*[;,]?\s*(?:#.*)?$/;

/** The settings in a text, and the numbers of other lines, whose texts may be secrets. */
interface ReadSettings {
  readonly settings: readonly Setting[];
  /** Lines beside a list of variables that do not belong to it. */
  readonly strange: readonly number[];
  /** The first line that cannot be read: it might have set a limit. */
  readonly broken: number | undefined;
}

/**
 * Returns the settings of a PostgREST configuration file, or of a list of its environment variables in the form of a
 * shell, systemd or Compose; of several with one name the last is used.
 */
export function readSettings(text: string): ReadSettings {
  const settings = new Map<string, Setting>();
  const strange: number[] = [];
  const lines = text
    .split(/\r?\n/)
    .map((line, at) => ({ line, number: at + 1 }))
    .filter(({ line }) => !/^\s*(?:#.*)?$/.test(line));
  for (const [at, { line, number }] of lines.entries()) {
    const setting = isContinued(line, lines[at + 1]?.line)
      ? undefined
      : (readVariable(line) ?? readKeyed(line));
    if (setting) settings.set(setting.key, setting);
    else if (VARIABLE.test(line) || !/^\s*[\w-]+:\s*$/.test(line)) strange.push(number);
  }
  const isList = lines.some(({ line }) => VARIABLE.test(line));
  const variables = new Set(lines.flatMap(({ line, number }) => (line.includes('PGRST_') ? number : [])));
  const broken = strange.find((number) => !isList || variables.has(number));
  return { settings: [...settings.values()], strange, broken };
}

/** Tells whether the value of a variable continues in the next line. */
function isContinued(line: string, next = ''): boolean {
  if (!VARIABLE.test(line)) return false;
  return line.endsWith('\\') || (YAML_ITEM.test(line) && next.search(/\S/) > line.search(/\S/));
}

/** Reads a variable; `undefined` if the line has none, or only a part of its value. */
function readVariable(line: string): Setting | undefined {
  const [, opening = '', name, closing, sign, rest = ''] = VARIABLE.exec(line) ?? [];
  if (name === undefined) return undefined;
  // Compose and shells may quote a whole item: - "PGRST_DB_URI=postgres://..."
  const isQuotedWhole = opening !== '' && closing === '';
  if (!isQuotedWhole && sign === ':' && YAML_ELSEWHERE.test(rest)) return undefined;
  const value = unquoted(isQuotedWhole ? opening + rest : rest);
  // export PGRST_DB_POOL=1 PGRST_DB_MAX_ROWS=2
  if (value === undefined || /\sPGRST_\w+=/.test(value)) return undefined;
  const key = name.startsWith(APP)
    ? `app.settings.${name.slice(APP.length)}`
    : name.toLowerCase().replaceAll('_', '-');
  return { key, value, variable: `PGRST_${name}` };
}

function readKeyed(line: string): Setting | undefined {
  const [, key, rest = ''] = KEYED.exec(line) ?? [];
  // PostgREST reads a value from the next line, too.
  if (key === undefined || /^(?:#.*)?$/.test(rest) || key.startsWith('PGRST_')) return undefined;
  const value = unquoted(rest);
  return value === undefined ? undefined : { key, value };
}

/** Returns the value of `"…"` with escapes, `'…'` or a bare word before a comment; `undefined` if text follows. */
function unquoted(text: string): string | undefined {
  if (!/^["']/.test(text)) return text.replace(/\s+#.*$/, '').trim();
  const [whole = '', double, single] = /^"((?:[^"\\]|\\.)*)"|^'([^']*)'/s.exec(text) ?? [];
  if (whole === '' || !END.test(text.slice(whole.length))) return undefined;
  return double === undefined ? single : double.replace(/\\(.)/gs, '$1');
}

/** Tells whether a text looks like a configuration of PostgREST. */
export function isPostgrest(text: string): boolean {
  return /^\s*(?:(?:db|jwt|server|openapi|app\.settings)[-.][\w.-]+\s*=|(?:-\s*|export\s+)?["']?PGRST_\w+)/m.test(
    text,
  );
}

/** Replaces secrets by environment variables and records these, or leaves secrets in place. */
export class SecretKeeper {
  readonly kept: { variable: string; of: string }[] = [];
  readonly #isInline: boolean;

  constructor(isInline: boolean) {
    this.#isInline = isInline;
  }

  /** Returns the word for a secret: `inline`, or a reference to a variable. */
  hide(variable: string, of: string, inline: string): string {
    return this.#isInline ? inline : this.keep(variable, of);
  }

  keep(variable: string, of: string): string {
    if (!this.kept.some((known) => known.variable === variable)) this.kept.push({ variable, of });
    return `\${env:${variable}}`;
  }
}

/** Returns the word for a secret setting: a file, its own variable, or a new variable. */
export function secretWord(
  { value, variable }: Setting,
  { keeper, of, name }: { keeper: SecretKeeper; of: string; name?: string },
): string {
  const file = fileIn(value);
  if (file !== undefined) return file;
  const reference = referenceIn(value);
  if (reference !== undefined) return keeper.keep(reference, of);
  const own = name ?? of.toUpperCase().replace(/\W/g, '_');
  return keeper.hide(variable ?? own, of, value);
}

/** Returns the word for a connection string; if it is literal, only the password is a secret. */
export function databaseWord(setting: Setting, keeper: SecretKeeper): string {
  const { value, variable } = setting;
  const plain =
    fileIn(value) ?? (referenceIn(value) === undefined && variable === undefined ? undefined : '');
  if (plain !== undefined) return secretWord(setting, { keeper, of: 'db-uri' });
  const hide = (whole: string, before: string, password: string): string =>
    password === ''
      ? whole
      : before + keeper.hide('DB_PASSWORD', 'the password in db-uri, as it is written there', password);
  return value
    .replace(/^(\w+:\/\/[^:@/?#]*:)([^@/?#]*)(?=@)/, hide)
    .replace(/(\bpassword\s*=\s*)('(?:[^'\\]|\\.)*'|[^\s&]+)/i, hide);
}

/** Returns the file in `@file`, from which PostgREST reads the value. */
function fileIn(value: string): string | undefined {
  return value.startsWith('@') ? `\${file:${value.slice(1)}}` : undefined;
}

/** Returns the variable in `$(NAME)`, from which PostgREST reads the value. */
function referenceIn(value: string): string | undefined {
  return /^\$\((\w+)\)$/.exec(value)?.[1];
}

/** Returns the faults of a text that is not in a file yet. */
export function faultsOf(text: string): readonly Fault[] {
  const name = 'imported.conf';
  return load({ confFile: resolve(name), name, prefix: resolve('.'), text }).report.faults;
}

import type { Setting } from './postgrest-file.ts';

/** Remembers which secrets a configuration takes from the environment now; or leaves them where they are. */
export class SecretKeeper {
  readonly kept: { variable: string; of: string }[] = [];
  readonly #isInline: boolean;

  constructor(isInline: boolean) {
    this.#isInline = isInline;
  }

  /** A word that stands for a secret: what `inline` gives, or a variable. */
  hide(variable: string, of: string, inline: string): string {
    return this.#isInline ? inline : this.keep(variable, of);
  }

  keep(variable: string, of: string): string {
    if (!this.kept.some((known) => known.variable === variable)) this.kept.push({ variable, of });
    return `\${env:${variable}}`;
  }
}

/** What a secret setting becomes: a file, the variable that it is already, or a variable of our own. */
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

/** A connection string: of one that is written out, only the password is a secret. */
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

/** `@file`: PostgREST reads the value from there. */
function fileIn(value: string): string | undefined {
  return value.startsWith('@') ? `\${file:${value.slice(1)}}` : undefined;
}

/** `$(NAME)`: the value is in the environment. */
function referenceIn(value: string): string | undefined {
  return /^\$\((\w+)\)$/.exec(value)?.[1];
}

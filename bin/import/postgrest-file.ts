/** A setting as the file has it. */
export interface Setting {
  /** `db-uri`. */
  readonly key: string;
  readonly value: string;
  /** The variable that the value comes from, where the file is one of variables: `PGRST_DB_URI`. */
  readonly variable?: string;
}

const KEYED = /^\s*([A-Za-z][\w.-]*)\s*=\s*(.*)$/;
const VARIABLE = /^\s*(?:-\s*|export\s+)?["']?PGRST_([A-Za-z0-9_]+)["']?\s*[=:]\s*(.*)$/;
const APP = 'APP_SETTINGS_';

/**
 * The settings of a PostgREST configuration file, or of a list of its environment variables as a shell, systemd or Compose
 * has it; a later one of the same name wins. The numbers of lines that are none are
 * `strange`: what stands there may be a secret.
 */
export function readSettings(text: string): { settings: readonly Setting[]; strange: readonly number[] } {
  const settings = new Map<string, Setting>();
  const strange: number[] = [];
  for (const [at, line] of text.split(/\r?\n/).entries()) {
    if (/^\s*(?:#.*)?$/.test(line)) continue;
    const setting = readVariable(line) ?? readKeyed(line);
    if (setting) settings.set(setting.key, setting);
    else if (!/^\s*[\w-]+:\s*$/.test(line)) strange.push(at + 1);
  }
  return { settings: [...settings.values()], strange };
}

function readVariable(line: string): Setting | undefined {
  const [, name, rest = ''] = VARIABLE.exec(line) ?? [];
  if (name === undefined) return undefined;
  const key = name.startsWith(APP)
    ? `app.settings.${name.slice(APP.length)}`
    : name.toLowerCase().replaceAll('_', '-');
  // Compose quotes a whole item: - "PGRST_DB_URI=postgres://..."
  const isQuotedWhole = /^\s*-\s*["']/.test(line);
  const value = isQuotedWhole ? rest.replace(/["']\s*$/, '') : unquoted(rest);
  return { key, value, variable: `PGRST_${name}` };
}

function readKeyed(line: string): Setting | undefined {
  const [, key, rest = ''] = KEYED.exec(line) ?? [];
  return key === undefined ? undefined : { key, value: unquoted(rest) };
}

/** `"…"` with its escapes, `'…'`, or a bare value up to a comment. */
function unquoted(text: string): string {
  const [, double] = /^"((?:[^"\\]|\\.)*)"/s.exec(text) ?? [];
  if (double !== undefined) return double.replace(/\\(.)/gs, '$1');
  const [, single] = /^'([^']*)'/.exec(text) ?? [];
  return single ?? text.replace(/\s+#.*$/, '').trim();
}

/** Whether a text looks like one. */
export function isPostgrest(text: string): boolean {
  return /^\s*(?:(?:db|jwt|server|openapi|app\.settings)[-.][\w.-]+\s*=|(?:-\s*|export\s+)?["']?PGRST_\w+)/m.test(
    text,
  );
}

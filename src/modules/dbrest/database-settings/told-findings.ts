import { createHash } from 'node:crypto';
import type { ErrorLog } from '../../../log/index.ts';
import type { StoredSetting } from '../schema/index.ts';
import type { SettingFinding } from './effective-config.ts';

/** Longer messages repeat a value. */
const LONGEST_LINE = 500;

/** Writes findings to the log: each one once, as long as its setting stays as it is, for all locations of a database. */
export class ToldFindings {
  readonly #log: ErrorLog;
  readonly #database: string;
  #settings: readonly StoredSetting[] = [];
  #told = new Set<string>();
  #toldBefore = new Set<string>();

  /** `database`: its name in the log. */
  constructor(log: ErrorLog, database: string) {
    this.#log = log;
    this.#database = database;
  }

  tell(settings: readonly StoredSetting[], findings: readonly SettingFinding[]): void {
    if (settings !== this.#settings) {
      this.#settings = settings;
      this.#toldBefore = this.#told;
      this.#told = new Set();
    }
    for (const finding of findings) {
      const id = idOf(finding, settings);
      if (this.#told.has(id)) continue;
      this.#told.add(id);
      if (!this.#toldBefore.has(id)) this.#write(finding);
    }
  }

  #write({ level, name, message }: SettingFinding): void {
    const line = `dbrest: "${name}" in ${this.#database} ${message}`;
    this.#log.write(level, line.replace(/\s+/g, ' ').slice(0, LONGEST_LINE));
  }
}

/** A setting with another value is another one. The value may be a secret. */
function idOf({ name, message }: SettingFinding, settings: readonly StoredSetting[]): string {
  const value = settings.find((setting) => setting.name === name)?.value ?? '';
  return createHash('sha256').update(`${name}\0${value}\0${message}`).digest('base64');
}

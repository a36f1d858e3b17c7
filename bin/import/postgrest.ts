import { Draft } from './draft.ts';
import type { Imported } from './draft.ts';
import { addAdmin, listenArgs } from './postgrest-listen.ts';
import { readSettings } from './postgrest-file.ts';
import type { Setting } from './postgrest-file.ts';
import { ALIASES, AS_EVER, NOT_CARRIED, ONE_TO_ONE } from './postgrest-table.ts';
import { databaseWord, secretWord } from './secret-words.ts';
import type { SecretKeeper } from './secret-words.ts';

/** A gateway that serves what PostgREST served with this configuration. */
export function importPostgrest(text: string, keeper: SecretKeeper): Imported {
  const { settings: read, strange } = readSettings(text);
  const settings = new Map(
    read.flatMap((setting) => {
      const key = ALIASES.get(setting.key) ?? setting.key;
      return setting.value === '' ? [] : [[key, setting] as const];
    }),
  );
  const importer = new Importer(settings, keeper);
  const draft = importer.write();
  for (const line of strange) importer.leave(`line ${line}`, 'it is no setting');
  importer.addNotes(draft);
  return { draft, notCarried: importer.left.map(({ key }) => key), secrets: keeper.kept };
}

class Importer {
  readonly left: { key: string; why: string }[] = [];
  readonly #settings: ReadonlyMap<string, Setting>;
  readonly #keeper: SecretKeeper;
  readonly #used = new Set<string>();

  constructor(settings: ReadonlyMap<string, Setting>, keeper: SecretKeeper) {
    this.#settings = settings;
    this.#keeper = keeper;
  }

  leave(key: string, why: string): void {
    this.left.push({ key, why });
  }

  write(): Draft {
    const draft = new Draft();
    const level = this.#text('log-level');
    if (level !== undefined) draft.add('error_log', 'stderr', level);
    draft.block('http', [], (http) => {
      http.block('server', [], (server) => {
        for (const args of listenArgs(this.#get)) server.add('listen', ...args);
        server.block('location', ['/'], (location) => this.#location(location));
      });
      addAdmin(http, this.#get);
    });
    for (const [key, { value }] of this.#settings) {
      if (this.#used.has(key) || AS_EVER.get(key)?.test(value)) continue;
      this.leave(key, NOT_CARRIED.get(key) ?? 'gw does not know this setting');
    }
    return draft;
  }

  /** On top of everything else: what to know before using it. */
  addNotes(draft: Draft): void {
    const notes = new Draft();
    notes.comment('From a configuration of PostgREST, by gw import.');
    for (const { variable, of } of this.#keeper.kept) {
      notes.comment(`Needs the environment variable ${variable}: ${of}.`);
    }
    if (this.left.length > 0) notes.comment('Not carried over:');
    for (const { key, why } of this.left) notes.comment(`  ${key}: ${why}`);
    draft.statements.unshift(...notes.statements);
  }

  #location(location: Draft): void {
    location.add('dbrest_pass', this.#database());
    this.#secret(location);
    for (const [key, { directive, args }] of Object.entries(ONE_TO_ONE)) {
      const value = this.#text(key);
      const words = value === undefined ? undefined : args(value);
      if (Array.isArray(words)) location.add(directive, ...(words as readonly string[]));
      else if (typeof words === 'string') this.leave(key, words);
    }
    // What PostgREST does unless told otherwise, and gw does not.
    if (!this.#settings.has('db-aggregates-enabled')) location.add('dbrest_aggregates', 'off');
    location.add('dbrest_jwt_invalid', 'reject');
    for (const [key, setting] of this.#settings) {
      if (!key.startsWith('app.settings.')) continue;
      this.#used.add(key);
      const name = key.slice('app.settings.'.length);
      location.add('dbrest_setting', name, secretWord(setting, { keeper: this.#keeper, of: key }));
    }
    const header = this.#text('server-trace-header');
    if (header !== undefined) {
      location.add('add_header', header, `$http_${header.toLowerCase().replaceAll('-', '_')}`, 'always');
    }
    location.comment(
      'PostgREST takes bodies of any size and lets the database decide how long a request may run:',
    );
    location.comment('client_max_body_size (1m) and dbrest_timeout (15s) bound them here.');
  }

  #database(): string {
    const setting = this.#get('db-uri');
    // libpq's own variables are not read.
    if (!setting || /^postgres(?:ql)?:\/\/$/.test(setting.value)) {
      return this.#keeper.keep('DATABASE_URL', 'the connection string of the database');
    }
    return databaseWord(setting, this.#keeper);
  }

  #secret(location: Draft): void {
    const isBase64 = /^(?:true|1)$/i.test(this.#text('jwt-secret-is-base64') ?? '');
    const setting = this.#get('jwt-secret');
    if (!setting) return;
    const word = secretWord(setting, { keeper: this.#keeper, of: 'jwt-secret', name: 'JWT_SECRET' });
    location.add('dbrest_jwt_secret', isBase64 ? `{"kty":"oct","alg":"HS256","k":"${word}"}` : word);
  }

  #text(key: string): string | undefined {
    return this.#get(key)?.value;
  }

  readonly #get = (key: string): Setting | undefined => {
    this.#used.add(key);
    return this.#settings.get(key);
  };
}

import { createHash } from 'node:crypto';
import type { Build, LocationParts } from '../../../contract/index.ts';
import { type Exchange, stateKey } from '../../../http/index.ts';
import type { ErrorLog } from '../../../log/index.ts';
import type { Authenticator } from '../auth/index.ts';
import type { DbrestConfig } from '../directives/index.ts';
import { noSchemaCache } from '../fault/index.ts';
import type { StreamResources } from '../live/index.ts';
import { compileDbrest, type DbrestResources, respondToError } from '../location.ts';
import { faultOf } from '../response/index.ts';
import type { Schema, SchemaCache, StoredSetting } from '../schema/index.ts';
import { compileNotes } from '../variables.ts';
import { effectiveConfig, type SettingFinding } from './effective-config.ts';

/** The resources of a location whose settings the database may replace. */
export interface VersionedResources extends DbrestResources {
  /** Present with `dbrest_config`. */
  readonly versions?: ConfigVersions | undefined;
}

/** `dbrest_config on`: each request is served by the location compiled for the newest version of its configuration. */
export function compileVersioned(
  config: DbrestConfig,
  { versions, offerTrials, ...resources }: VersionedResources & { readonly versions: ConfigVersions },
  build: Build,
): LocationParts {
  offerTrials?.(build.location, async () => (await versions.current()).config);
  // Compiled so that the build knows its needs. It serves nothing: the database may allow less than the file.
  const ofFile = compileDbrest(config, resources, build);
  const compiled = new WeakMap<ConfigVersion, LocationParts>();
  const partsOf = (version: ConfigVersion): LocationParts => {
    const known = compiled.get(version);
    if (known) return known;
    const parts = compileDbrest(version.config, { ...resources, ...streamsOf(version) }, build);
    compiled.set(version, parts);
    return parts;
  };
  const requests = new VersionedRequests(versions, partsOf);
  const noting = ofFile.rewrite && compileNoting(requests, build);
  return {
    ...(noting && { rewrite: [noting] }),
    async content(x) {
      let parts: LocationParts;
      try {
        const picked = requests.partsFor(x);
        parts = picked instanceof Promise ? await picked : picked;
      } catch (error) {
        return respondToError(x, error, { config, outage: resources.database.outage, authenticated: false });
      }
      await parts.content?.(x);
    },
    tooLarge: (x) => (requests.presentParts(x) ?? ofFile).tooLarge?.(x),
    ownErrors: (x) => (requests.presentParts(x) ?? ofFile).ownErrors?.(x),
    filter: (x) => requests.presentParts(x)?.filter?.(x),
    slashRedirect: true,
  };
}

function streamsOf({
  authenticator,
  streams,
}: ConfigVersion): Pick<ConfigVersion, 'authenticator' | 'streams'> {
  return { authenticator, streams };
}

/** Keeps the parts that serve a request until its end, so that no request is served by parts of two versions. */
class VersionedRequests {
  readonly #picked = stateKey<LocationParts>('the version of dbrest that serves a request');
  readonly #versions: ConfigVersions;
  readonly #partsOf: (version: ConfigVersion) => LocationParts;

  constructor(versions: ConfigVersions, partsOf: (version: ConfigVersion) => LocationParts) {
    this.#versions = versions;
    this.#partsOf = partsOf;
  }

  /** Rejects while the settings cannot be read. */
  partsFor(x: Exchange): LocationParts | Promise<LocationParts> {
    const picked = x.state(this.#picked);
    if (picked) return picked;
    const version = this.#versions.current();
    return version instanceof Promise
      ? version.then((opened) => this.#pick(x, opened))
      : this.#pick(x, version);
  }

  /** The parts that serve the request, or would serve it; `undefined` while nothing is served. */
  presentParts(x: Exchange): LocationParts | undefined {
    const { known } = this.#versions;
    return x.state(this.#picked) ?? (known && this.#partsOf(known));
  }

  #pick(x: Exchange, version: ConfigVersion): LocationParts {
    const parts = this.#partsOf(version);
    x.setState(this.#picked, parts);
    return parts;
  }
}

/** Compiles the step that notes role and relation before limits by them are checked. */
function compileNoting(requests: VersionedRequests, build: Build): (x: Exchange) => Promise<void> {
  const takeNotes = compileNotes(build);
  return async (x) => {
    takeNotes?.(x);
    try {
      const parts = await requests.partsFor(x);
      for (const step of parts.rewrite ?? []) await step(x);
    } catch (error) {
      // The fault is reported when the request is served.
      faultOf(error, { authenticated: false });
    }
  };
}

/** A configuration and the resources opened for it. A request uses one from its beginning to its end. */
interface ConfigVersion {
  readonly config: DbrestConfig;
  readonly authenticator: Authenticator;
  readonly streams: StreamResources | undefined;
}

interface VersionsParts {
  readonly file: DbrestConfig;
  readonly schema: Pick<SchemaCache, 'known' | 'current'>;
  /** Opens the resources of a version; `retiring` is aborted when the next one has taken its place. */
  readonly open: (config: DbrestConfig, retiring: AbortSignal) => Promise<ConfigVersion>;
  readonly tell: (settings: readonly StoredSetting[], findings: readonly SettingFinding[]) => void;
  readonly log: ErrorLog;
}

/** A version that is open or being opened. */
interface Draft {
  /** The settings that it was made from. */
  readonly key: string;
  readonly retiring: AbortController;
  readonly opening: Promise<ConfigVersion>;
  version: ConfigVersion | undefined;
  /** Serves until this one is open. */
  before: Draft | undefined;
}

/**
 * The versions of a configuration of which settings in the database replace parts. The first is opened when these have
 * been read: the file may allow more than they do.
 */
export class ConfigVersions {
  readonly #parts: VersionsParts;
  #newest: Draft | undefined = undefined;
  #isRetired = false;

  constructor(parts: VersionsParts) {
    this.#parts = parts;
    const { known } = parts.schema;
    if (known) this.adopt(known);
  }

  /** The version for a new request. Rejects as `SchemaCache.current` does. */
  current(): ConfigVersion | Promise<ConfigVersion> {
    const newest = this.#newest;
    return newest ? (newest.version ?? newest.opening) : this.#first();
  }

  /** The version for a new request, if it is open. */
  get known(): ConfigVersion | undefined {
    return this.#newest?.version;
  }

  /** Opens the version for the settings of a schema, unless it is the present one. */
  adopt({ settings = [] }: Schema): void {
    const { file, tell } = this.#parts;
    const key = JSON.stringify(settings);
    if (this.#isRetired || this.#newest?.key === key) return;
    const { config, findings } = effectiveConfig(file, settings);
    tell(settings, findings);
    this.#open(key, config);
  }

  /** The configuration retires, and its streams end. */
  retire(): void {
    this.#isRetired = true;
    for (let draft = this.#newest; draft; draft = draft.before) draft.retiring.abort();
  }

  async #first(): Promise<ConfigVersion> {
    const { schema } = this.#parts;
    const loaded = await schema.current();
    this.adopt(schema.known ?? loaded);
    if (!this.#newest) throw noSchemaCache();
    return this.#newest.opening;
  }

  #open(key: string, config: DbrestConfig): void {
    const retiring = new AbortController();
    const before = this.#newest;
    const opening = this.#parts.open(config, retiring.signal).then(
      (version) => {
        draft.version = version;
        for (let old = draft.before; old; old = old.before) old.retiring.abort();
        draft.before = undefined;
        return version;
      },
      (error: unknown) => {
        if (this.#newest === draft) this.#newest = before;
        this.#parts.log.write('error', `dbrest: settings of the database cannot be used: ${String(error)}`);
        throw noSchemaCache();
      },
    );
    // Requests that wait get the fault.
    opening.catch(() => undefined);
    const draft: Draft = { key, retiring, opening, version: undefined, before };
    this.#newest = draft;
  }
}

/** Longer messages repeat a value. */
const LONGEST_LINE = 500;

/** Writes findings to the log: each one once while its setting is unchanged, for all locations of a database. */
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

/** Identifies a finding and the value that it is about, as a digest: the value may be a secret. */
function idOf({ name, message }: SettingFinding, settings: readonly StoredSetting[]): string {
  const value = settings.find((setting) => setting.name === name)?.value ?? '';
  return createHash('sha256').update(`${name}\0${value}\0${message}`).digest('base64');
}

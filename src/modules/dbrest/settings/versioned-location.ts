import type { Build, LocationParts } from '../../../contract/index.ts';
import { type Exchange, stateKey } from '../../../http/index.ts';
import type { ConfigVersion, ConfigVersions } from './config-versions.ts';
import type { DbrestConfig } from '../directives/index.ts';
import { compileDbrest, type DbrestResources, respondToError } from '../location.ts';
import { compileNotes } from '../variables.ts';
import { faultOf } from '../response/index.ts';

/** What a location uses whose settings the database may replace. */
export interface VersionedResources extends DbrestResources {
  /** Present with `dbrest_config`. */
  readonly versions?: ConfigVersions | undefined;
}

/** `dbrest_config on`: each request is served by the location as it was compiled for the newest version of its configuration. */
export function compileVersioned(
  config: DbrestConfig,
  { versions, offerTrials, ...resources }: VersionedResources & { readonly versions: ConfigVersions },
  build: Build,
): LocationParts {
  offerTrials?.(build.location, async () => (await versions.current()).config);
  // Compiled for what it needs of the build. It serves nothing: the database may allow less than the file.
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
        return respondToError(x, error, { config, authenticated: false });
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

/** Keeps what serves a request until its end, so that no request is served by parts of two versions. */
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

  /** What serves the request, or would if it had come to that; `undefined` while nothing is served. */
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

/** Compiles the step that finds out role and relation before limits by them are checked. */
function compileNoting(requests: VersionedRequests, build: Build): (x: Exchange) => Promise<void> {
  const takeNotes = compileNotes(build);
  return async (x) => {
    takeNotes?.(x);
    try {
      const parts = await requests.partsFor(x);
      for (const step of parts.rewrite ?? []) await step(x);
    } catch (error) {
      // The fault is told where the request is served.
      faultOf(error, { authenticated: false });
    }
  };
}

import type { PurgeSharing, CacheBuild } from '../cache/index.ts';
import type { ErrorLog } from '../log/index.ts';
import type { ComplexValue } from '../config/index.ts';
import type { Exchange, Getter } from '../http/index.ts';
import type { SpoolRules } from '../bodies/index.ts';
import type { Counters } from '../zone/index.ts';

/** The directives of a location about responses of any upstream. */
interface ResponseRules extends PurgeSharing {
  /** `slice`; 0: responses are fetched whole. */
  readonly sliceBytes: number;
  /** `early_hints`: conditions for passing on 103 responses. */
  readonly earlyHints?: readonly (readonly ComplexValue[])[];
  /** `cache_tag_header`: the response header with tags, named for this location. */
  readonly tagHeader?: string;
  /** `cache_tags`: responses have tags, in the header of `cacheTagsHeader`. */
  readonly cacheTags?: true;
  readonly cacheTagsHeader: string;
}

/** The parts of a location that compiling needs. */
export interface ForwardingBuild extends CacheBuild {
  readonly core: CacheBuild['core'] & SpoolRules & ResponseRules;
  /** Absolute; relative paths start here. */
  readonly prefix: string;
  readonly log: ErrorLog;
  value(value: ComplexValue): (x: Exchange) => string;
  variable(name: string): Getter;
  readonly metrics: Counters;
  uses(variable: string): boolean;
  usesFamily(prefix: string): boolean;
  needPeer(): void;
}

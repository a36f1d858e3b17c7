import type { Build } from '../../contract/index.ts';
import type { Handler } from '../../http/index.ts';
import type { ControlConfig } from './config.ts';
import type { ControlResources } from './resources.ts';

/** One row of the inventory. Methods, caching, cross-site writes and faults are decided around the handler. */
export interface Endpoint {
  /** As `control_api` takes it. */
  readonly name: string;
  /** Below the path of a location that serves the whole inventory. */
  readonly path: string;
  /** One phrase for `describe`. */
  readonly description: string;
  /** It changes something: only programs and pages of ours may ask for it. */
  readonly writes?: true;
  /** Anybody may ask: `gw check` does not want it guarded. */
  readonly harmless?: true;
  /** It fails the load when there is no dictionary for flags. */
  readonly needsFlags?: true;
  /** Requests are counted by location only where somebody can read them. */
  readonly showsRequestCounts?: true;
  /** The handler answers GET and HEAD; it may throw a `ControlFault` or a `DictionaryFault`. */
  compile(surface: Surface): Handler;
}

/** What an endpoint is compiled with. */
export interface Surface {
  readonly config: ControlConfig;
  readonly resources: ControlResources;
  readonly build: Build;
}

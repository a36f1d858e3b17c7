import type { PeerView } from '../upstream/index.ts';
import type { ZoneDeclaration } from '../zone/index.ts';

/** The configuration as an operator looks at it: where requests go, and what lies behind. */
export interface GatewayView {
  readonly servers: readonly ServerView[];
  /** `upstream` blocks, their peers as they are at this moment. */
  readonly upstreams: readonly { readonly name: string; readonly peers: readonly PeerView[] }[];
  readonly zones: readonly ZoneDeclaration[];
  /** Some server is configured for this name, exactly or by a wildcard; regex names do not count. */
  knowsHost(host: string): boolean;
  /** Asks the compiled locations what would answer; nothing is served. */
  explain(question: RouteQuestion): RouteAnswer;
}

/** A virtual server. */
export interface ServerView {
  /** As metrics name it. */
  readonly label: string;
  readonly names: readonly string[];
  readonly listens: readonly { readonly address: string; readonly isDefault: boolean }[];
  /** The server level itself, with all locations below it. */
  readonly root: LocationView;
}

/** A location, or the server level. */
export interface LocationView {
  /** As the configuration writes it, and metrics label it; '' for the server level. */
  readonly text: string;
  readonly kind: 'server' | 'prefix' | 'exact' | 'regex' | 'named';
  /** `file:line`. */
  readonly place: string;
  /** The directive that answers. Absent: files do, those of `root` or `alias`. */
  readonly answeredBy?: string;
  readonly internal: boolean;
  /** In the order in which they are asked. */
  readonly locations: readonly LocationView[];
}

/** A request that somebody may send. */
export interface RouteQuestion {
  readonly port: number;
  /** Lower case, without port. */
  readonly host: string;
  /** The path as sent: percent-encoded, without its query. */
  readonly path: string;
}

/** What would answer it, or why nothing would. */
export type RouteAnswer =
  | { readonly refusal: string }
  | {
      readonly address: string;
      readonly server: string;
      readonly serverPlace: string;
      /** No `server_name` of that port matches. */
      readonly byDefault: boolean;
      /** Decoded and normalised: what locations are compared with. */
      readonly uri: string;
      /** The regex locations that matched on the way, outermost first. */
      readonly regexes: readonly string[];
      readonly location: Omit<LocationView, 'locations'>;
    };

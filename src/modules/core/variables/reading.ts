import type { Build, CoreConfig, ModuleDefinition } from '../../../contract/index.ts';
import type { Getter } from '../../../http/index.ts';

export type Variables = NonNullable<ModuleDefinition<CoreConfig>['variables']>;
export type Families = NonNullable<ModuleDefinition<CoreConfig>['families']>;
type Variable = Variables[string];

/** A variable that needs nothing but the exchange. */
export const plain = (summary: string, read: Getter): Variable => ({ summary, compile: () => read });

/** The same, where what it gives means nothing outside of a running gateway. */
export const live = (summary: string, read: Getter): Variable => ({ ...plain(summary, read), live: true });

/** A variable that is a request header. */
export const header = (summary: string, name: string): Variable => ({
  summary,
  compile: (build) => readHeader(name, build),
});

/** A variable that is made of the client's address. */
export const ofPeer = (summary: string, read: Getter): Variable => ({
  summary,
  compile: (build) => {
    build.needPeer();
    return read;
  },
});

/** Reads a request header, which the transport then keeps. */
export function readHeader(name: string, build: Build): Getter {
  build.needHeader(name);
  return (x) => x.header(name);
}

/** What stands for a header in a variable's name. */
export function headerName(rest: string): string {
  return rest.replaceAll('_', '-');
}

/** Seconds with milliseconds. */
export function seconds(ms: number): string {
  return (ms / 1000).toFixed(3);
}

/** A port, where there is one. */
export function portText(port: number): string {
  return port === 0 ? '' : String(port);
}

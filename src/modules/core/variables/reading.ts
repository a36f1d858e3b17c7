import type { Build, CoreConfig, ModuleDefinition } from '../../../contract/index.ts';
import type { Getter } from '../../../http/index.ts';

export type Variables = NonNullable<ModuleDefinition<CoreConfig>['variables']>;
export type Families = NonNullable<ModuleDefinition<CoreConfig>['families']>;
type Variable = Variables[string];

/** Defines a variable that is read from the exchange alone. */
export const plain = (summary: string, read: Getter): Variable => ({ summary, compile: () => read });

/** Defines such a variable that has a value in a running gateway only. */
export const live = (summary: string, read: Getter): Variable => ({ ...plain(summary, read), live: true });

/** Defines a variable for a request header. */
export const header = (summary: string, name: string): Variable => ({
  summary,
  compile: (build) => readHeader(name, build),
});

/** Defines a variable that depends on the client's address. */
export const ofPeer = (summary: string, read: Getter): Variable => ({
  summary,
  compile: (build) => {
    build.needPeer();
    return read;
  },
});

/** Reads a request header, which the engine has to keep. */
export function readHeader(name: string, build: Build): Getter {
  build.needHeader(name);
  return (x) => x.header(name);
}

/** Converts the end of a variable's name to a header name. */
export function headerName(rest: string): string {
  return rest.replaceAll('_', '-');
}

/** Formats milliseconds as seconds with three decimals. */
export function seconds(ms: number): string {
  return (ms / 1000).toFixed(3);
}

/** Formats a port; '' for 0. */
export function portText(port: number): string {
  return port === 0 ? '' : String(port);
}

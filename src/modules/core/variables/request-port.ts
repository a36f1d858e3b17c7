import type { Getter } from '../../../http/index.ts';

/** The port in a `Host` value: behind a name, an address, or the brackets of an IPv6 literal. */
export function requestPort(host: Getter): Getter {
  return (x) => /^(?:\[[^\]]*\]|[^:]*):(\d+)$/.exec(host(x) ?? '')?.[1];
}

import { isIP } from 'node:net';
import { type Member, MEMBER_CODES, MemberFault } from '../../../upstream/index.ts';
import type { DynamicUpstreamsConfig } from '../directives.ts';
import { askSource } from './http.ts';
import { plainMember, type Source, unreadable } from './source.ts';

const MAX_WEIGHT = 65_535;

/** The fields of an instance in the response of `/v1/health/service/NAME` that gw reads. */
interface Instance {
  readonly Node?: { readonly Address?: unknown };
  readonly Service?: {
    readonly Address?: unknown;
    readonly Port?: unknown;
    readonly Weights?: { readonly Passing?: unknown };
  };
}

/** `dynamic_upstreams_source consul`: the passing instances of a service. */
export function consulSource(config: DynamicUpstreamsConfig & { readonly consulService: string }): Source {
  const { consulAddress, consulService, consulTag, consulToken, consulDatacenter } = config;
  const url = new URL(`/v1/health/service/${encodeURIComponent(consulService)}`, consulAddress);
  url.searchParams.set('passing', '1');
  if (consulTag !== undefined) url.searchParams.set('tag', consulTag);
  if (consulDatacenter !== undefined) url.searchParams.set('dc', consulDatacenter);
  const headers = consulToken === undefined ? {} : { 'X-Consul-Token': consulToken };
  return {
    async ask(signal) {
      const { status, text } = await askSource(url.href, headers, signal);
      if (status !== 200) throw unreadable(`${url.host}: status ${status}`);
      return { members: readInstances(text) };
    },
  };
}

function readInstances(text: string): readonly Member[] {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw new MemberFault(502, MEMBER_CODES.json, 'the response of Consul is not valid JSON');
  }
  if (!Array.isArray(parsed))
    throw new MemberFault(502, MEMBER_CODES.shape, 'the response of Consul is no list');
  return parsed.map((instance, nth) => readInstance(instance as Instance | null, nth));
}

function readInstance(instance: Instance | null, nth: number): Member {
  const { Address: own, Port: port, Weights: weights } = instance?.Service ?? {};
  // A service without its own address has the address of its node.
  const address = own === '' || own === undefined ? instance?.Node?.Address : own;
  const isPort = Number.isInteger(port) && (port as number) >= 1 && (port as number) <= 65_535;
  if (typeof address !== 'string' || isIP(address) === 0 || !isPort)
    throw new MemberFault(502, MEMBER_CODES.peer, `instance ${nth} of Consul has no IP address with a port`);
  const passing = weights?.Passing;
  const weight =
    Number.isInteger(passing) && (passing as number) >= 1 ? Math.min(passing as number, MAX_WEIGHT) : 1;
  return plainMember(`${isIP(address) === 6 ? `[${address}]` : address}:${port as number}`, { weight });
}

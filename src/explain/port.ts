import { addressText } from '../plan/index.ts';
import type { GatewayPlan, PortPlan } from '../plan/index.ts';
import type { ListenAddress } from '../contract/index.ts';
import type { Account, Candidate } from './account.ts';
import type { Places } from './places.ts';
import type { Destination } from './question.ts';
import { placeText } from './words.ts';

/** The port that a connection comes to. */
export interface ChosenPort {
  readonly port: PortPlan;
  readonly account: NonNullable<Account['port']>;
}

/** How well an address fits a connection: the kernel gives it to the most specific one. */
interface Fit {
  readonly port: PortPlan;
  readonly rank: number;
  readonly why: string;
}

const LOCAL = '127.0.0.1';
const ANY: ReadonlySet<string> = new Set(['0.0.0.0', '::', '[::]']);

/** Which socket a connection would come to; a text where there is none. */
export function choosePort(
  { place }: Destination,
  { plan, places }: { readonly plan: GatewayPlan; readonly places: Places },
): ChosenPort | string {
  const fits = plan.ports
    .map((port) => fitOf(port.address, place, port))
    .filter((fit) => fit !== undefined)
    .toSorted((a, b) => b.rank - a.rank);
  const [best, ...others] = fits;
  if (!best) return nothingListens(place, plan.ports);
  const listen = (port: PortPlan): string => listenPlace(port, port.defaultServer, { plan, places });
  return {
    port: best.port,
    account: {
      address: addressText(best.port.address),
      place: listen(best.port),
      why: best.why,
      others: place === undefined ? [] : others.map(({ port }) => losing(port, listen(port))),
    },
  };
}

function losing(port: PortPlan, place: string): Candidate {
  return { text: addressText(port.address), place, chosen: false, why: 'less specific an address' };
}

function fitOf(address: ListenAddress, place: Destination['place'], port: PortPlan): Fit | undefined {
  if (place === undefined) return { port, rank: 0, why: 'the first port: the URL names none' };
  if ('socket' in place)
    return address.kind === 'unix' && address.path === place.socket
      ? { port, rank: 1, why: 'the socket of the URL' }
      : undefined;
  if (address.kind === 'unix' || address.port !== place.port) return undefined;
  const wanted = place.host === 'localhost' ? LOCAL : bare(place.host);
  const own = bare(address.host);
  if (own === wanted) return { port, rank: 3, why: 'listens on exactly this address' };
  const isAddress = /^[\d.]+$|:/.test(wanted);
  if (ANY.has(own)) {
    const fitsFamily = !isAddress || own.includes(':') === wanted.includes(':');
    return fitsFamily
      ? { port, rank: 2, why: `listens on port ${address.port} of all addresses` }
      : undefined;
  }
  if (isAddress) return undefined;
  return { port, rank: 1, why: `listens on port ${address.port}, if "${place.host}" leads to that address` };
}

function bare(host: string): string {
  return host.replace(/^\[|\]$/g, '');
}

function nothingListens(place: Destination['place'], ports: readonly PortPlan[]): string {
  if (place === undefined) return 'the configuration has no server that listens';
  const listening = ports.map(({ address }) => addressText(address));
  if ('socket' in place) return `nothing listens on "unix:${place.socket}"; there is ${listening.join(', ')}`;
  const nearest = ports
    .toSorted((a, b) => distance(a.address, place.port) - distance(b.address, place.port))
    .slice(0, 5)
    .map(({ address }) => addressText(address));
  return `nothing listens on port ${place.port} of "${place.host}"; there is ${nearest.join(', ') || 'no port at all'}`;
}

function distance(address: ListenAddress, port: number): number {
  return address.kind === 'inet' ? Math.abs(address.port - port) : Infinity;
}

/** Where a server says that it listens there; where it stands itself when it does not say. */
export function listenPlace(
  { address }: PortPlan,
  server: number,
  { plan, places }: { readonly plan: GatewayPlan; readonly places: Places },
): string {
  const own = plan.servers[server];
  if (!own) return '';
  const field = places.server(own)?.from('core').get('listens');
  const listens = (field?.value ?? []) as readonly { readonly address: ListenAddress }[];
  const nth = listens.findIndex((listen) => addressText(listen.address) === addressText(address));
  return placeText(field?.nodes[nth]?.name.span) || own.root.place;
}

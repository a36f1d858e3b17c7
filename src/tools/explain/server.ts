import type { Veil } from './veil.ts';
import { type DirectiveNode, placeText } from '../../../grammar/index.ts';
import { ServerNames } from '../../compile/index.ts';
import type { AnyModule, ListenAddress, ServerName } from '../../contract/index.ts';
import {
  addressText,
  type GatewayPlan,
  type PortPlan,
  serverNameText,
  type ServerPlan,
  engineText,
} from '../../plan/index.ts';
import type { Account, Candidate } from './account.ts';
import type { LoadedParts, PlanBlocks, DirectiveText } from './plan-blocks.ts';
import type { Destination, ExplainQuery, ReadQuery } from './query.ts';

/** The parts of a load that an explanation needs. */
export interface ExplainedConfig extends LoadedParts {
  readonly modules: readonly AnyModule[];
}

/** The input from which an account is assembled. */
export interface AccountInput {
  readonly question: ExplainQuery;
  readonly read: ReadQuery;
  readonly chosen: ChosenPort;
  readonly blocks: PlanBlocks;
  readonly texts: DirectiveText;
  readonly veil: Veil;
  readonly loaded: ExplainedConfig;
  /** The directives of all rewrite phases. */
  readonly directives: ReadonlySet<DirectiveNode>;
}

/** The port that receives a connection. */
export interface ChosenPort {
  readonly port: PortPlan;
  readonly account: NonNullable<Account['port']>;
}

/** How well an address matches a connection: the kernel selects the most specific one. */
interface Fit {
  readonly port: PortPlan;
  readonly rank: number;
  readonly why: string;
}

const LOCAL = '127.0.0.1';
const ANY: ReadonlySet<string> = new Set(['0.0.0.0', '::', '[::]']);

/** The port that a connection would reach. A string gives the reason if there is none. */
export function choosePort(
  { place }: Destination,
  { plan, blocks }: { readonly plan: GatewayPlan; readonly blocks: PlanBlocks },
): ChosenPort | string {
  const fits = plan.ports
    .map((port) => fitOf(port.address, place, port))
    .filter((fit) => fit !== undefined)
    .toSorted((a, b) => b.rank - a.rank);
  const [best, ...others] = fits;
  if (!best) return nothingListens(place, plan.ports);
  const listen = (port: PortPlan): string => listenPlace(port, port.defaultServer, { plan, blocks });
  return {
    port: best.port,
    account: {
      address: addressText(best.port.address) + engineText(best.port),
      place: listen(best.port),
      why: best.why,
      others: place === undefined ? [] : others.map(({ port }) => losingPort(port, listen(port))),
    },
  };
}

function losingPort(port: PortPlan, place: string): Candidate {
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

/** The place of the `listen` of a server on this port, or of the server if it has none. */
function listenPlace(
  { address }: PortPlan,
  server: number,
  { plan, blocks }: { readonly plan: GatewayPlan; readonly blocks: PlanBlocks },
): string {
  const own = plan.servers[server];
  if (!own) return '';
  const field = blocks.server(own)?.from('core').get('listens');
  const listens = (field?.value ?? []) as readonly { readonly address: ListenAddress }[];
  const nth = listens.findIndex((listen) => addressText(listen.address) === addressText(address));
  return placeText(field?.nodes[nth]?.name.span) || own.root.place;
}

const RANKS: readonly ServerName['kind'][] = ['exact', 'leading wildcard', 'trailing wildcard', 'regex'];

const KINDS: Readonly<Record<ServerName['kind'], string>> = {
  exact: 'an exact name',
  'leading wildcard': 'a wildcard in front',
  'trailing wildcard': 'a wildcard at the end',
  regex: 'a regular expression',
};

interface ServerChoice {
  readonly plan: GatewayPlan;
  readonly blocks: PlanBlocks;
  readonly port: PortPlan;
  readonly host: string;
}

/** Explains why `server` receives a request and the other servers of the port do not. */
export function serverAccount(server: ServerPlan, choosing: ServerChoice): NonNullable<Account['server']> {
  const { plan, port, host } = choosing;
  const fitting = nameFor(server, host);
  const servers = port.servers.map((index) => plan.servers[index]).filter((each) => each !== undefined);
  return {
    name: server.names
      .map(serverNameText)
      .filter((name) => name !== '')
      .join(' '),
    place: server.root.place,
    why: whyChosen(server, fitting, choosing),
    others: servers
      .filter((each) => each !== server)
      .map((each) => losingServer(each, { ...choosing, winner: fitting })),
  };
}

function whyChosen(server: ServerPlan, name: ServerName | undefined, choosing: ServerChoice): string {
  const { port, host, plan } = choosing;
  if (name && !(port.servers.length === 1 && host === ''))
    return `"${serverNameText(name)}" is ${KINDS[name.kind]} that fits "${host}" (${namePlace(server, name, choosing)})`;
  if (port.servers.length === 1) return 'the only server of this port answers whatever name is asked for';
  const isSaid = (
    choosing.blocks.server(server)?.from('core').get('listens')?.value as
      readonly { readonly defaultServer: boolean; readonly address: PortPlan['address'] }[] | undefined
  )?.some((listen) => listen.defaultServer && addressText(listen.address) === addressText(port.address));
  const place = listenPlace(port, port.defaultServer, { plan, blocks: choosing.blocks });
  const why = isSaid === true ? `"default_server" (${place})` : 'the first server of this port';
  return `no name fits "${host}": ${why}`;
}

/** The name of a server that matches a host, as the compiled names decide. */
function nameFor({ names }: ServerPlan, host: string): ServerName | undefined {
  const known = new ServerNames<ServerName | undefined>(undefined);
  for (const name of names) known.add(name, name);
  return known.find(host).server;
}

function losingServer(
  server: ServerPlan,
  { host, winner, ...choosing }: ServerChoice & { readonly winner: ServerName | undefined },
): Candidate {
  const own = nameFor(server, host);
  const names = server.names.map(serverNameText).filter((name) => name !== '');
  return {
    text: names.join(' ') || '(no name)',
    place: own ? namePlace(server, own, choosing) : server.root.place,
    chosen: false,
    why: whyLost(own, winner, host),
  };
}

function whyLost(own: ServerName | undefined, winner: ServerName | undefined, host: string): string {
  if (!own || !winner) return host === '' ? 'the request names no host' : `does not fit "${host}"`;
  const [mine, theirs] = [RANKS.indexOf(own.kind), RANKS.indexOf(winner.kind)];
  if (mine > theirs) return `${KINDS[winner.kind]} goes before ${KINDS[own.kind]}`;
  if (own.kind === 'exact' || own.kind === 'regex')
    return 'an earlier server has that name or a regex that matches';
  return 'a longer wildcard, or an earlier one, goes first';
}

function namePlace(server: ServerPlan, name: ServerName, { blocks }: Pick<ServerChoice, 'blocks'>): string {
  const field = blocks.server(server)?.from('core').get('serverNames');
  const nth = ((field?.value ?? []) as readonly (readonly ServerName[])[]).findIndex((names) =>
    names.some((each) => serverNameText(each) === serverNameText(name)),
  );
  return placeText(field?.nodes[nth]?.name.span) || server.root.place;
}

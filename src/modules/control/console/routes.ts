import type { GatewayView, LocationFacts, LocationView, RouteQuestion } from '../../../contract/index.ts';
import { parseHost } from '../../../http/index.ts';
import type { Exchange } from '../../../http/index.ts';
import { ControlFault } from '../fault.ts';
import type { RouteAnswer, RouteTree } from './contract.ts';

/** A location and all that are nested in it. */
export function* eachRoute(route: LocationView): Generator<LocationView> {
  yield route;
  for (const inner of route.locations) yield* eachRoute(inner);
}

/** Servers and locations; `own` is told by the place of the location that serves the console. */
export function routeTree({ servers }: GatewayView, { place }: LocationFacts): RouteTree {
  const isOwn = ({ root }: RouteTree['servers'][number]): boolean =>
    [...eachRoute(root)].some((route) => route.place === place);
  return { servers, own: servers.find(isOwn)?.label ?? '' };
}

/** What would answer a URL: an absolute one, or a path at the address that the console was asked at. */
export function explainUrl(url: string, { view, x }: { view: GatewayView; x: Exchange }): RouteAnswer {
  return view.explain(url.startsWith('/') ? { ...ownAddress(x), path: pathOf(url) } : absolute(url));
}

function ownAddress({ port, host }: Exchange): Omit<RouteQuestion, 'path'> {
  return { port: port.port, host };
}

/** Split by hand: a URL object would normalise the path before the gateway sees it. */
function absolute(url: string): RouteQuestion {
  const [, authority, rest = ''] = /^http:\/\/([^/?#]*)(.*)$/is.exec(url) ?? [];
  if (authority === undefined) throw new ControlFault(400, 'a URL starts with http:// or /');
  const host = parseHost(authority);
  if (host === undefined) throw new ControlFault(400, `"${authority}" is no host`);
  const [, port = '80'] = /:(\d+)$/.exec(authority) ?? [];
  return { host, port: Number(port), path: pathOf(rest.startsWith('/') ? rest : `/${rest}`) };
}

function pathOf(target: string): string {
  return target.replace(/[?#].*$/s, '');
}

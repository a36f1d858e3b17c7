import { isIP } from 'node:net';
import { LRUCache } from 'lru-cache';
import type { ErrorLog } from '../../log/index.ts';
import { type Counters, createZone, PeerTable } from '../../zone/index.ts';
import { PeerGroup } from '../peer-group.ts';
import { type AddressRule, admits, HostRefused, ResolveFault } from './host-policy.ts';
import { PLAIN_SERVER, plainUpstream } from '../implicit-upstream.ts';
import { PeerMeter } from '../meters.ts';
import type { NameResolver } from './name-resolver.ts';
import type { RequestHosts, UpstreamGroup } from '../interfaces.ts';
import { addressOf, readServerAddress, type ServerTarget } from '../plan.ts';

/** Number of groups that are kept. */
const MAX_GROUPS = 1000;

interface KnownGroup {
  readonly group: PeerGroup;
  /** The sorted addresses that it has now; name servers return them in varying order. */
  addresses: string;
}

/** The parts of a worker that the groups of request hosts need. */
interface RequestHostScope {
  readonly resolver: NameResolver | undefined;
  readonly addresses: AddressRule | undefined;
  readonly metrics: Counters;
  readonly log: ErrorLog;
  readonly workerId: number;
}

/**
 * The groups of hosts that requests name. As in nginx, failures of such peers do not affect later requests. They are in
 * no zone, since their number is unlimited.
 */
export class KnownRequestHosts implements RequestHosts {
  readonly #scope: RequestHostScope;
  readonly #table: PeerTable;
  readonly #meter: PeerMeter;
  readonly #known = new LRUCache<string, KnownGroup>({ max: MAX_GROUPS });

  constructor(scope: RequestHostScope) {
    this.#scope = scope;
    this.#table = new PeerTable(
      createZone({ name: '', kind: 'peers', slots: 0, threads: 0 }),
      scope.workerId,
    );
    this.#meter = new PeerMeter(scope.metrics, { upstream: 'by variable', peer: '' });
  }

  group(host: string, port: number): UpstreamGroup | Promise<UpstreamGroup> {
    const name = host.toLowerCase();
    const ip = name.replace(/^\[|\]$/g, '');
    if (isIP(ip)) return this.#groupOf(name, port, [ip]);
    const { resolver } = this.#scope;
    if (!resolver) throw new ResolveFault(`no resolver defined to resolve ${host}`);
    const known = resolver.known(name);
    if (known) return this.#groupOf(name, port, known.addresses);
    return resolver.addresses(name).then(({ addresses }) => this.#groupOf(name, port, addresses));
  }

  socket(address: string): UpstreamGroup {
    const target = readServerAddress(address, 0);
    if (typeof target === 'string') throw new ResolveFault(`${target} in upstream "${address}"`);
    const known = this.#known.get(address) ?? { group: this.#open(address, target), addresses: address };
    this.#known.set(address, known);
    return known.group;
  }

  /**
   * Returns the same group as long as it is cached, even if its addresses change, because connections belong to groups.
   */
  #groupOf(host: string, port: number, ips: readonly string[]): UpstreamGroup {
    const key = `${host}:${port}`;
    const addresses = ips.toSorted().join(' ');
    const known = this.#known.get(key) ?? {
      group: this.#open(key, { kind: 'name', host, port }),
      addresses: '',
    };
    if (known.addresses !== addresses) {
      const { addresses: rule } = this.#scope;
      if (rule && !ips.every((ip) => admits(rule, ip, port))) throw new HostRefused(key);
      known.group.setAddresses(
        0,
        ips.map((ip) => ({ address: addressOf(ip, port) })),
      );
      known.addresses = addresses;
      this.#known.set(key, known);
    }
    return known.group;
  }

  #open(name: string, target: ServerTarget): PeerGroup {
    const server = { name, place: '', target, ...PLAIN_SERVER, maxFails: 0 };
    const { log } = this.#scope;
    return new PeerGroup(plainUpstream({ name, key: name }, [server]), {
      table: this.#table,
      metrics: this.#meter,
      log,
    });
  }
}

import { createHash } from 'node:crypto';
import { resolveTxt } from 'node:dns/promises';
import {
  type AcmePlan,
  allianceZone,
  certificateId,
  ClusterAlliance,
  type Custodian,
  type CustodianTurn,
  custodianZone,
  openCustodian,
  type SharedCertificates,
} from '../../acme/index.ts';
import { showCertificates, type WorkerScope } from '../../contract/index.ts';
import type { Resolving } from '../../upstream/index.ts';
import { type Metric, openDictionary, zoneIdentity } from '../../zone/index.ts';

/** Where TXT records are looked up; it is known when locations are compiled. */
interface TextLookup {
  resolving: Resolving | undefined;
}

const FAILURES: Metric = {
  name: 'gw_acme_failed_orders',
  help: 'Orders of a certificate that have failed since the last one that did not.',
};

/** Opens who keeps the certificates of a plan. Resolves when those that are stored serve. */
export async function openKeeping(
  plan: AcmePlan,
  certificates: { readonly shared: SharedCertificates; readonly memory: SharedArrayBuffer },
  worker: WorkerScope,
): Promise<Custodian> {
  const { shared, memory } = certificates;
  const lookup = lookupOf(worker);
  const turn = worker.share(
    'acme turn',
    (): CustodianTurn => ({}),
    () => undefined,
  );
  const cluster = plan.cluster === undefined ? undefined : worker.clusters.get(plan.cluster);
  // Opened for each configuration: the dictionary is shared as long as one of them uses it.
  const alliance = openAlliance(plan, shared, worker);
  const digest = digestOf(plan);
  const custodian = worker.share(
    `acme custodian ${digest} ${zoneIdentity(memory)} ${cluster?.key ?? ''}`,
    () =>
      openCustodian({
        plan,
        shared,
        memory: worker.zone(custodianZone().name),
        turn,
        workerId: worker.workerId,
        log: worker.log,
        metrics: worker.metrics,
        texts: (name) => textsOf(name, lookup, worker),
        alliance,
      }),
    (opened) => opened.close(),
  );
  if (custodian.use(worker)) show(plan, custodian, worker);
  await custodian.ready;
  return custodian;
}

const digests = new WeakMap<AcmePlan, string>();

/** Each server of a configuration has the same plan. */
function digestOf(plan: AcmePlan): string {
  const digest = digests.get(plan) ?? createHash('sha256').update(JSON.stringify(plan)).digest('base64url');
  digests.set(plan, digest);
  return digest;
}

function show({ certificates }: AcmePlan, custodian: Custodian, worker: WorkerScope): void {
  const of = (name: string): ReturnType<Custodian['facts']['get']> => custodian.facts.get(name);
  const names = certificates.map(certificateId);
  showCertificates(worker, { names, all: () => [...custodian.facts.values()], of });
  for (const certificate of certificates) {
    const labels = { issuer: certificate.issuer, name: certificateId(certificate) };
    const read = (): number => of(labels.name)?.failures ?? 0;
    worker.own(worker.metrics.collect('gauge', { metric: FAILURES, labels, read }), (end) => end());
  }
}

/** Sets where TXT records are looked up from now on. */
export function lookUpWith(resolving: Resolving, worker: WorkerScope): void {
  lookupOf(worker).resolving = resolving;
}

function lookupOf(worker: WorkerScope): TextLookup {
  return worker.share(
    'acme lookup',
    (): TextLookup => ({ resolving: undefined }),
    () => undefined,
  );
}

/** Without a `resolver`, the name servers of the system are asked. */
async function textsOf(
  name: string,
  { resolving }: TextLookup,
  worker: WorkerScope,
): Promise<readonly string[]> {
  if (resolving?.resolver) return worker.upstreams.texts(resolving, name);
  try {
    return (await resolveTxt(name)).map((strings) => strings.join(''));
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (code === 'ENOTFOUND' || code === 'ENODATA') return [];
    throw new Error(`the TXT records of "${name}" could not be looked up (${code})`, { cause: error });
  }
}

function openAlliance(
  plan: AcmePlan,
  shared: SharedCertificates,
  worker: WorkerScope,
): ClusterAlliance | undefined {
  const cluster = plan.cluster === undefined ? undefined : worker.clusters.get(plan.cluster);
  if (!cluster) return undefined;
  const zone = allianceZone(plan).name;
  const memory = worker.zone(zone);
  const dictionary = openDictionary(memory, worker.workerId);
  worker.share(
    `acme cluster ${cluster.key} ${zoneIdentity(memory)}`,
    () => cluster.dictionaries.share({ zone, dictionary, memory, digest: 'acme 1' }),
    (end) => end(),
  );
  return new ClusterAlliance({ cluster, dictionary, shared, log: worker.log });
}

import {
  type AcmeCertificate,
  type AcmePlan,
  certificateId,
  certificatesZoneName,
  SharedCertificates,
} from '../../acme/index.ts';
import { acmePlanOf, moduleFor, type OrderedPair, type WorkerScope } from '../../contract/index.ts';
import type { Resolving } from '../../upstream/index.ts';
import { openDictionary, zoneIdentity } from '../../zone/index.ts';
import { type AcmeConfig, directives, issuersOf } from './directives.ts';
import { compileHttpChallenge } from './http-challenge.ts';
import { lookUpWith, openKeeping } from './keeping.ts';
import { OnDemand } from './on-demand.ts';
import { probeIssuer } from './probe.ts';
import { settle, validate } from './settle.ts';
import { definedBy, variables } from './variables.ts';

/** What a server or location has of certificates in this worker. */
interface AcmeResources {
  readonly certificates: SharedCertificates;
  /** Aborted when the configuration retires. */
  readonly retiring: AbortSignal;
  /** Sets where TXT records are looked up. */
  readonly resolveWith: (resolving: Resolving) => void;
}

/** The longest server name, reverse names of addresses included. */
const LONGEST_NAME = 253;

const PLAN = 'acme';

function openCertificates({ sharedZone }: AcmeConfig, worker: WorkerScope): SharedCertificates {
  const memory = worker.zone(certificatesZoneName(sharedZone));
  const opened = worker.share(
    `acme certificates ${zoneIdentity(memory)}`,
    () => new SharedCertificates(openDictionary(memory, worker.workerId)),
    () => undefined,
  );
  const latest = worker.share<{ certificates?: SharedCertificates }>(
    'acme: the latest certificates',
    () => ({}),
    () => undefined,
  );
  if (latest.certificates && latest.certificates !== opened) opened.adopt(latest.certificates);
  latest.certificates = opened;
  return opened;
}

function orderedPairOf(certificate: AcmeCertificate, certificates: SharedCertificates): OrderedPair {
  const id = certificateId(certificate);
  return {
    get revision() {
      return certificates.revision;
    },
    get pair() {
      return certificates.certificate(id);
    },
  };
}

/** Certificates by ACME (nginx ngx_http_acme_module, RFC 8555). */
export const acme = moduleFor<AcmeConfig>()<AcmeResources>({
  name: 'acme',
  summary: 'Certificates that gw orders and renews itself (ACME).',
  directives,
  variables,
  enabled: (config) => issuersOf(config).length > 0 || config.order !== undefined,
  validate,
  settle,
  writes: (config) => ({ stateDirectories: issuersOf(config).flatMap(({ statePath }) => statePath ?? []) }),
  uses: ({ cluster }) =>
    cluster === undefined ? [] : [{ kind: 'cluster', name: cluster, field: 'cluster' }],
  prepare(configs, master) {
    master.provide(PLAN, acmePlanOf(configs.flatMap(({ served }) => served ?? [])));
  },
  async probe(config, live) {
    const written = config.issuers ?? [];
    const problems = issuersOf(config).map(async (issuer, index) => {
      const problem = await probeIssuer(issuer, live);
      if (!problem) return [];
      return [
        index < written.length
          ? ({ ...problem, field: 'issuers', index } as const)
          : ({ ...problem, field: 'acme' } as const),
      ];
    });
    return (await Promise.all(problems)).flat();
  },
  async provision(config, worker) {
    const certificates = openCertificates(config, worker);
    const memory = worker.zone(certificatesZoneName(config.sharedZone));
    await openKeeping(worker.provided(PLAN) as AcmePlan, { shared: certificates, memory }, worker);
    const resolveWith = (resolving: Resolving): void => lookUpWith(resolving, worker);
    return { certificates, retiring: worker.retiring, resolveWith };
  },
  defines: ({ served }, { certificates }) =>
    served?.certificate || served?.onDemand ? definedBy(served, certificates) : {},
  compile({ served, onDemand }, { certificates, retiring, resolveWith }, { log, core }) {
    if (!served) return {};
    const { resolver, resolverTimeoutMs: timeoutMs } = core;
    if (resolver) resolveWith({ resolver, timeoutMs });
    const challenges = new Set(served.issuers.map(({ challenge }) => challenge));
    const demand = onDemand && new OnDemand({ ask: onDemand.ask, served, certificates, log, retiring });
    return {
      ...(challenges.has('http-01') && { postRead: compileHttpChallenge(certificates) }),
      handshakes: {
        ...(challenges.has('tls-alpn-01') && {
          challengePair: (name) =>
            name.length <= LONGEST_NAME ? certificates.challengeCertificate(name) : undefined,
        }),
        ...(served.certificate && { orderedPair: orderedPairOf(served.certificate, certificates) }),
        ...(demand && { awaitPairs: (x) => demand.await(x) }),
      },
    };
  },
  rules: () => import('./rules.ts'),
  explanation: {
    runs: true,
    provision: (config, scope) => ({
      certificates: openCertificates(config, scope),
      retiring: scope.retiring,
      resolveWith: () => undefined,
    }),
  },
});

import type { Report } from '../../grammar/index.ts';
import { allianceZone, certificateId, certificatesZone, custodianZone } from '../acme/index.ts';
import type { ResolvedConfigs } from '../config/index.ts';
import { type AcmeServerConfig, acmePlanOf, configOf, type FileName } from '../contract/index.ts';
import type { ZoneCollector } from './collectors.ts';
import type { PlannedServer } from './level.ts';

interface AcmePlanning {
  readonly zones: ZoneCollector;
  readonly report: Report;
}

/** Declares the shared memory for the certificates of all servers, and compares what they say. */
export function planAcme(servers: readonly PlannedServer[], { zones, report }: AcmePlanning): void {
  const found = servers.flatMap(({ plan, level }) => {
    const { served } = (plan.root.modules['acme'] ?? {}) as AcmeServerConfig;
    return served ? [{ served, span: level.get('acme')?.from.get('order')?.spans[0] }] : [];
  });
  const [first] = found;
  if (!first) return;
  const plan = acmePlanOf(found.map(({ served }) => served));
  zones.add(certificatesZone(plan, first.served.zone), undefined);
  zones.add(custodianZone(), undefined);
  if (plan.cluster !== undefined) zones.add(allianceZone(plan), undefined);
  const issuers = new Map<string, string>();
  for (const { served, span } of found) {
    const { certificate } = served;
    if (!certificate) continue;
    const id = certificateId(certificate);
    const issuer = issuers.get(id) ?? certificate.issuer;
    issuers.set(id, issuer);
    if (issuer !== certificate.issuer)
      report.emerg(`the certificate "${id}" has two issuers, "${issuer}" and "${certificate.issuer}"`, span);
  }
}

/** The name of a file that is a variable: it holds the text of the file. */
function named(variable: string): FileName {
  const text = `$${variable}`;
  return { text, path: text, named: { value: { parts: [{ variable }] }, directory: '/' } };
}

/**
 * A server that orders a certificate and names none shows the one that it gets, as by
 * `ssl_certificate $acme_certificate; ssl_certificate_key $acme_certificate_key;`.
 */
export function withOrderedPair(level: ResolvedConfigs): ResolvedConfigs {
  const [acme, ssl] = [level.get('acme'), level.get('ssl')];
  const order = acme?.from.get('order') ?? acme?.from.get('acmeDomain');
  if (!order || !ssl || configOf(level, 'ssl').certificates) return level;
  const value = {
    ...ssl.value,
    certificates: [named('acme_certificate')],
    keys: [named('acme_certificate_key')],
  };
  const from = new Map([...ssl.from, ['certificates', order], ['keys', order]] as const);
  return { get: (owner) => (owner === 'ssl' ? { value, from } : level.get(owner)) };
}

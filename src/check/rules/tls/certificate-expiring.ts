import type { DirectiveNode } from '../../../../grammar/index.ts';
import type { CheckedConfig, Problem, Rule } from '../../rule.ts';
import { certificatesOf, tlsServers } from '../../tls-servers.ts';
import { SHOP } from './shop.ts';

const DAY_MS = 86_400_000;
/** Certificates are renewed a month before their end: later than this, nobody did. */
const SOON_DAYS = 21;

export const certificateExpiring: Rule = {
  id: 'GW503',
  slug: 'certificate-expiring',
  severity: 'warning',
  summary: 'a certificate that has expired, or will within three weeks',
  why: 'Browsers refuse the site from that moment on.',
  fix: 'Renew it, find out why nobody did, and reload.',
  bad: {
    text: SHOP.text,
    files: { ...SHOP.files, 'shop.crt': { names: ['shop.example'], days: 10 } },
  },
  good: SHOP,
  *check(config: CheckedConfig): Iterable<Problem> {
    const told = new Set<DirectiveNode>();
    for (const { node, file, certificate } of tlsServers(config).flatMap(certificatesOf)) {
      const fault = faultOf(certificate.validFrom, certificate.validTo);
      if (fault === undefined || told.has(node)) continue;
      told.add(node);
      yield { at: node, message: `certificate "${file.text}" ${fault}` };
    }
  },
};

function faultOf(from: string, to: string): string | undefined {
  const now = Date.now();
  const [start, end] = [Date.parse(from), Date.parse(to)];
  if (start > now) return `is not valid before ${dayOf(start)}`;
  if (end <= now) return `expired on ${dayOf(end)}`;
  const days = Math.floor((end - now) / DAY_MS);
  if (days >= SOON_DAYS) return undefined;
  return `expires in ${days === 1 ? '1 day' : `${days} days`}, on ${dayOf(end)}`;
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

import { createPrivateKey } from 'node:crypto';
import { existsSync } from 'node:fs';
import {
  type AcmeCertificate,
  type AcmeIssuer,
  type AcmePlan,
  certificateId,
  openAcmeClient,
} from '../../src/acme/index.ts';
import { acmePlan } from '../../src/tools/lookups.ts';
import { type ConfigOptions, loadConfig } from '../load-config.ts';
import { columns, fail, visible } from '../terminal.ts';
import { asOwnerOf, type Kept, keptOf, openState, storedIds } from './state.ts';

export type AcmeOptions = ConfigOptions;

/** Options of `gw acme record`. */
export interface RecordOptions extends AcmeOptions {
  readonly issuerDomain?: string;
}

/** Options of `gw acme renew`. */
export interface RenewOptions extends AcmeOptions {
  readonly all?: boolean;
  readonly issuer?: string;
}

/** Options of `gw acme revoke`. */
export interface RevokeOptions extends AcmeOptions {
  readonly reason: string;
  readonly issuer?: string;
}

/** One certificate; the fields of `--json`. */
interface CertificateStatus {
  readonly id: string;
  readonly issuer: string;
  readonly names: readonly string[];
  /** Times in ISO 8601; `null`: there is no certificate. */
  readonly notAfter: string | null;
  /** `null`: only the gateway knows. */
  readonly nextTry: string | null;
  /** Of the last order, if it failed. */
  readonly fault: string | null;
}

/** A certificate and where it comes from. */
interface Known {
  readonly id: string;
  readonly issuer: AcmeIssuer;
  readonly names: readonly string[];
}

/** Loads what a configuration says about certificates (of one issuer); a number is an exit code. */
function loadAcme(options: AcmeOptions, only?: string): AcmePlan | number {
  const loaded = loadConfig(options);
  if (!loaded) return 1;
  const plan = acmePlan(loaded.plan);
  if (plan.issuers.length === 0) return fail('no "acme_issuer" is configured', 2);
  if (only === undefined) return plan;
  const issuers = plan.issuers.filter(({ name }) => name === only);
  return issuers.length === 0
    ? fail(`no "acme_issuer" is called "${visible(only)}"`, 2)
    : { ...plan, issuers };
}

/** The certificates of the configuration, and those on demand that are stored. */
async function knownOf({ issuers, certificates }: AcmePlan): Promise<readonly Known[]> {
  const known: Known[] = [];
  // One after the other: each may be read with the rights of another account.
  for (const issuer of issuers) {
    const own = certificates
      .filter((one) => one.issuer === issuer.name)
      .map((one) => configured(one, issuer));
    const ids = new Set(own.map(({ id }) => id));
    const stored = await asOwnerOf(issuer, () => storedIds(issuer));
    const onDemand = stored.filter((id) => !ids.has(id)).map((id) => ({ id, issuer, names: [] }));
    known.push(...own, ...onDemand);
  }
  return known;
}

function configured(certificate: AcmeCertificate, issuer: AcmeIssuer): Known {
  const names = certificate.identifiers.map(({ value }) => value);
  return { id: certificateId(certificate), issuer, names };
}

/** `gw acme status`. Exit code 1: the configuration is refused, or a state directory cannot be read. */
export async function acmeStatus({ json, ...options }: AcmeOptions & { json?: boolean }): Promise<number> {
  const plan = loadAcme(options);
  if (typeof plan === 'number') return plan;
  try {
    const statuses: CertificateStatus[] = [];
    for (const one of await knownOf(plan)) statuses.push(await statusOf(one));
    process.stdout.write(json === true ? `${JSON.stringify(statuses, undefined, 2)}\n` : tableOf(statuses));
    return 0;
  } catch (error) {
    return fail(visible((error as Error).message), 1);
  }
}

async function statusOf({ id, issuer, names }: Known): Promise<CertificateStatus> {
  const { facts, nextMs, fault }: Kept = await asOwnerOf(issuer, () => keptOf(issuer, id));
  return {
    id,
    issuer: issuer.name,
    names: names.length > 0 ? names : (facts?.names.map(({ value }) => value) ?? []),
    notAfter: facts ? timeOf(facts.notAfterMs) : null,
    nextTry: nextMs === undefined ? null : timeOf(Math.max(nextMs, Date.now())),
    fault: fault === '' ? null : fault,
  };
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+/, '');
}

const ASK = 'gw status asks the gateway, if a location has "control_api certificates"\n';

function tableOf(statuses: readonly CertificateStatus[]): string {
  if (statuses.length === 0) return 'no certificates\n';
  const table = columns([
    ['CERTIFICATE', 'ISSUER', 'NAMES', 'VALID UNTIL', 'NEXT ORDER', 'LAST FAULT'],
    ...statuses.map(({ id, issuer, names, notAfter, nextTry, fault }) => [
      visible(id),
      issuer,
      visible(names.join(' ')),
      notAfter ?? '-',
      nextTry ?? 'unknown',
      fault === null ? '-' : visible(fault),
    ]),
  ]);
  return statuses.some(({ nextTry }) => nextTry === null) ? table + ASK : table;
}

/** `gw acme record`. Exit code 1: there is no account yet, or the authority does not say how it is called. */
export async function acmeRecords({ issuerDomain, ...options }: RecordOptions): Promise<number> {
  const plan = loadAcme(options);
  if (typeof plan === 'number') return plan;
  const issuers = plan.issuers.filter(({ challenge }) => challenge === 'dns-persist-01');
  if (issuers.length === 0) return fail('no issuer has "challenge dns-persist-01"', 2);
  try {
    for (const issuer of issuers) {
      const account = await asOwnerOf(issuer, async () => openState(issuer).account(issuer.uri));
      if (!account) return fail(`issuer "${issuer.name}" has no account yet: start the gateway first`, 1);
      const domain = issuerDomain ?? (await domainOf(issuer));
      const own = plan.certificates.filter((one) => one.issuer === issuer.name);
      for (const line of recordsOf(own, `${domain}; accounturi=${account.url}`))
        process.stdout.write(`${line}\n`);
    }
    return 0;
  } catch (error) {
    return fail(visible((error as Error).message), 1);
  }
}

/** One record for each name: with the policy if a wildcard is ordered for it. */
function recordsOf(certificates: readonly AcmeCertificate[], value: string): readonly string[] {
  const wildcards = new Map<string, boolean>();
  for (const { identifiers } of certificates)
    for (const { value: name } of identifiers) {
      const domain = name.replace(/^\*\./, '');
      wildcards.set(domain, name !== domain || wildcards.get(domain) === true);
    }
  return [...wildcards].map(
    ([domain, isWildcard]) =>
      `_validation-persist.${domain}. IN TXT "${value}${isWildcard ? '; policy=wildcard' : ''}"`,
  );
}

async function domainOf(issuer: AcmeIssuer): Promise<string> {
  const { signal } = new AbortController();
  // The directory is asked for without a signature: any key will do.
  const client = openAcmeClient({ issuer, accountKey: undefined, log: SILENT, signal });
  const { issuerDomains } = await client.directory();
  const [first] = issuerDomains;
  if (first !== undefined) return first;
  throw new Error(
    `the authority of issuer "${issuer.name}" does not say how it is called: use --issuer-domain`,
  );
}

const SILENT = { write: (): void => undefined };

/**
 * `gw acme renew` of ids, or of names: then of each certificate that is ordered for the name.
 * Exit code 1: a request cannot be left in the state directory; 2: there is no such certificate.
 */
export async function acmeRenew(
  wanted: readonly string[],
  { all, issuer: of, ...options }: RenewOptions,
): Promise<number> {
  const plan = loadAcme(options, of);
  if (typeof plan === 'number') return plan;
  if (all === true ? wanted.length > 0 : wanted.length === 0)
    return fail('expected ids or names of certificates, or --all\n  gw acme status lists them', 2);
  try {
    const known = await knownOf(plan);
    const chosen = new Set(all === true ? known : []);
    for (const each of wanted) {
      const meant = meantBy(each, known);
      if (meant.length === 0) return fail(unknown(each, known), 2);
      for (const one of meant) chosen.add(one);
    }
    for (const { id, issuer } of chosen) {
      // The gateway makes it: this account may be another one.
      if (issuer.statePath !== undefined && !existsSync(issuer.statePath))
        return fail(`"${visible(issuer.statePath)}" does not exist yet: start the gateway first`, 1);
      await asOwnerOf(issuer, () => openState(issuer).request({ kind: 'renew', id }));
      process.stdout.write(`${visible(id)}: a new certificate is requested\n`);
    }
    return 0;
  } catch (error) {
    return fail(visible((error as Error).message), 1);
  }
}

/** The certificates with an id, or else those that are ordered for a name. */
function meantBy(wanted: string, known: readonly Known[]): readonly Known[] {
  const byId = known.filter(({ id }) => id === wanted);
  const name = wanted.toLowerCase();
  return byId.length > 0 ? byId : known.filter(({ names }) => names.includes(name));
}

function unknown(wanted: string, known: readonly Known[]): string {
  return `there is no certificate "${visible(wanted)}"; ${listOf(known)}`;
}

/** The first 20, with their issuers and the names that an id does not tell. */
function listOf(known: readonly Known[]): string {
  const listed = known.slice(0, 20).map(({ id, names, issuer }) => {
    const others = names.filter((name) => name !== id);
    const what = others.length > 0 ? ` for ${visible(others.join(' '))}` : '';
    return `\n  ${visible(id)}${what}, of issuer "${issuer.name}"`;
  });
  return `there are:${listed.join('')}`;
}

const REASONS: Readonly<Record<string, number>> = {
  unspecified: 0,
  'key-compromise': 1,
  'affiliation-changed': 3,
  superseded: 4,
  cessation: 5,
};

/**
 * `gw acme revoke` of an id, or of a name that one certificate is ordered for.
 * Exit code 1: the authority has not revoked it; 2: there is no such certificate, or more than one.
 */
export async function acmeRevoke(
  wanted: string,
  { reason, issuer: of, ...options }: RevokeOptions,
): Promise<number> {
  const plan = loadAcme(options, of);
  if (typeof plan === 'number') return plan;
  try {
    const known = await knownOf(plan);
    const meant = meantBy(wanted, known);
    const [one] = meant;
    if (!one) return fail(unknown(wanted, known), 2);
    if (meant.length > 1)
      return fail(`${meant.length} certificates are for "${visible(wanted)}"; ${listOf(meant)}`, 2);
    const { id, issuer } = one;
    const pair = await asOwnerOf(issuer, () => openState(issuer).pair(id));
    if (!pair)
      return fail(`there is no certificate "${visible(id)}" in "${issuer.statePath ?? 'memory'}"`, 1);
    const { signal } = new AbortController();
    const key = createPrivateKey(pair.key);
    const client = openAcmeClient({ issuer, accountKey: undefined, log: SILENT, signal });
    await client.revoke(pair.chain, { reason: REASONS[reason] ?? 0, key });
    await asOwnerOf(issuer, () => openState(issuer).request({ kind: 'revoked', id }));
    process.stdout.write(`${visible(id)}: revoked; a new certificate is requested\n`);
    return 0;
  } catch (error) {
    return fail(visible((error as Error).message), 1);
  }
}

import { type AcmeCertificate, type AcmeIdentifier, USUAL_KEY } from '../../acme/index.ts';
import type { ConfigReport, ConfigSite } from '../../contract/index.ts';
import { nearest } from '../../config/index.ts';
import { type AcmeConfig, issuersOf } from './directives.ts';
import { identifiersOfServer, readIdentifiers, withoutCovered, withoutRepetitions } from './identifiers.ts';
import { NGINZ_ISSUER } from './nginz-directives.ts';

type Report = ConfigReport<AcmeConfig>;
type Names = ConfigSite['serverNames'];

/** Returns the config of a server with its certificate. Reports names that cannot be in one. */
export function settle(
  config: AcmeConfig,
  { match, serverNames }: Pick<ConfigSite, 'match' | 'serverNames'>,
  report: Report,
): AcmeConfig {
  if (match) return config;
  const { order, onDemand, cluster, sharedZone } = config;
  const certificate = order ? ordered(config, serverNames, report) : ofDomain(config, report);
  const demand = order &&
    onDemand && { issuer: order.issuer, key: order.key, rate: onDemand.rate, max: onDemand.max };
  return {
    ...config,
    served: {
      issuers: issuersOf(config),
      ...(certificate && { certificate }),
      ...(demand && { onDemand: demand }),
      cluster,
      zone: sharedZone,
    },
  };
}

/** The certificate of `acme_certificate`. */
function ordered(config: AcmeConfig, names: Names, report: Report): AcmeCertificate | undefined {
  const { order, onDemand } = config;
  if (!order) return undefined;
  const issuer = issuersOf(config).find(({ name }) => name === order.issuer);
  if (!issuer) {
    const near = nearest(
      order.issuer,
      issuersOf(config).map(({ name }) => name),
    );
    const hint =
      near === undefined ? '"acme_issuer" in the http block declares issuers' : `did you mean "${near}"?`;
    report.phrase('order', `issuer "${order.issuer}" is missing`, { rule: 'bad-reference', hint });
    return undefined;
  }
  const isExplicit = order.identifiers.length > 0;
  const all = isExplicit ? order.identifiers : namesOf(names, { report, isOnDemand: onDemand !== undefined });
  const { fit, unfit } = sorted(withoutRepetitions(all), issuer.challenge);
  // The names that a wildcard of the server covers are ordered one by one when clients ask for them.
  const wrong = onDemand && !isExplicit ? unfit.filter(({ type }) => type === 'ip') : unfit;
  for (const { type, value } of wrong)
    report.on('order', ...faultOf({ type, value, challenge: issuer.challenge }));
  if (fit.length > 0) return { issuer: issuer.name, identifiers: withoutCovered(fit), key: order.key };
  if (!onDemand && wrong.length === 0)
    report.phrase('order', '"acme_certificate": no identifiers found in "server_name"', {
      hint: 'name them: acme_certificate issuer www.example.com',
    });
  return undefined;
}

function namesOf(
  names: Names,
  { report, isOnDemand }: { readonly report: Report; readonly isOnDemand: boolean },
): readonly AcmeIdentifier[] {
  const { identifiers, skipped } = identifiersOfServer(names);
  for (const { name, why } of isOnDemand ? [] : skipped)
    report.warn('order', `leaves out the server name "${name}": ${why}`);
  return identifiers;
}

type Challenge = ReturnType<typeof issuersOf>[number]['challenge'];

/** Those that a challenge can prove, and the others. */
function sorted(
  identifiers: readonly AcmeIdentifier[],
  challenge: Challenge,
): { readonly fit: readonly AcmeIdentifier[]; readonly unfit: readonly AcmeIdentifier[] } {
  const isDns = challenge.startsWith('dns-');
  const fits = ({ type, value }: AcmeIdentifier): boolean =>
    type === 'ip' ? !isDns : isDns || !value.startsWith('*.');
  return { fit: identifiers.filter(fits), unfit: identifiers.filter((each) => !fits(each)) };
}

function faultOf({ type, value, challenge }: AcmeIdentifier & { challenge: Challenge }): [string, string] {
  return type === 'ip'
    ? [
        `cannot get a certificate for the address "${value}" by ${challenge}`,
        'addresses are proven by "challenge http-01" or "tls-alpn-01"',
      ]
    : [
        `cannot get a certificate for the wildcard "${value}" by ${challenge}`,
        'wildcards are proven by "challenge dns-01" or "dns-persist-01"; or name the hosts one by one',
      ];
}

/** The certificate of nginz's `acme_domain`. */
function ofDomain(config: AcmeConfig, report: Report): AcmeCertificate | undefined {
  const { acmeDomain, acme } = config;
  if (acmeDomain === undefined || acme !== true) return undefined;
  const read = readIdentifiers(acmeDomain);
  const fault = 'fault' in read ? read.fault : undefined;
  if ('fault' in read || acmeDomain.startsWith('*')) {
    report.phrase('acmeDomain', `invalid identifier "${acmeDomain}" in "acme_domain" directive`, {
      hint: fault ?? 'wildcards are proven by "challenge dns-01" of an "acme_issuer"',
    });
    return undefined;
  }
  return { issuer: NGINZ_ISSUER, identifiers: read, key: USUAL_KEY };
}

/** Each issuer writes its directory alone: two would take the accounts and certificates of each other for their own. */
function reportSharedState(config: AcmeConfig, report: Report): void {
  const byPath = new Map<string, string>();
  for (const [index, { name, statePath }] of issuersOf(config).entries()) {
    if (statePath === undefined) continue;
    const other = byPath.get(statePath);
    byPath.set(statePath, name);
    if (other === undefined || other === name) continue;
    const field = name === NGINZ_ISSUER && config.acme === true ? 'acme' : 'issuers';
    report.phrase(field, `issuers "${other}" and "${name}" have the same "state_path"`, {
      ...(field === 'issuers' && { index }),
      hint: 'give each a directory of its own',
    });
  }
}

/** Reports what contradicts itself, whatever the names of the server. */
export function validate(config: AcmeConfig, report: Report): void {
  const names = new Set<string>();
  for (const [index, { name }] of (config.issuers ?? []).entries()) {
    if (names.has(name))
      report.phrase('issuers', `duplicate ACME issuer "${name}"`, { index, rule: 'duplicate-directive' });
    names.add(name);
  }
  reportSharedState(config, report);
  if (config.acme === true && names.has(NGINZ_ISSUER))
    report.on('acme', `stands beside an "acme_issuer" block with the name "${NGINZ_ISSUER}"`);
  if (config.order && config.acmeDomain !== undefined)
    report.on('acmeDomain', 'stands beside "acme_certificate": one of them is enough');
  if (config.onDemand && !config.order)
    report.on('onDemand', 'requires "acme_certificate"', 'it names the issuer: acme_certificate issuer');
}

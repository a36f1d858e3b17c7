import type { ConfigReport, ServerName } from '../../contract/index.ts';
import { type AuthJwtConfig, isOfNginz } from './directives.ts';
import { readRevocationList } from './comparisons.ts';
import { readKeys } from './key-files.ts';
import { issuersOf } from './location-issuers.ts';
import { hasUsableName, RESOURCE } from './resource.ts';

/** Reports issuers that do not exist, that tokens cannot be told apart by, or whose keys cannot be read. */
export function validateIssuers(config: AuthJwtConfig, report: ConfigReport<AuthJwtConfig>): void {
  const { issuers = [], issuerNames = [] } = config;
  const twice = issuers.findIndex(({ name }, index) => issuers.findIndex((one) => one.name === name) < index);
  if (twice >= 0)
    report.phrase('issuers', `duplicate token issuer "${issuers[twice]?.name}"`, { index: twice });
  const unknown = issuerNames.find((name) => !issuers.some((issuer) => issuer.name === name));
  if (unknown !== undefined)
    report.phrase('issuerNames', `unknown token issuer "${unknown}"`, {
      rule: 'bad-reference',
      hint: '"token_issuer" in the http block declares issuers',
    });
  const named = issuersOf(config);
  if (named.length > 0 && config.type === 'encrypted')
    report.on('issuerNames', 'has no effect on tokens that nobody has signed', 'use "auth_jwt_type nested"');
  if (named.filter(({ introspection }) => introspection).length > 1)
    report.on(
      'issuerNames',
      'names several issuers with "introspect"',
      'tokens that are not signed do not say who has issued them: use a location for each issuer',
    );
  const urls = named.flatMap(({ issuer }) => issuer ?? []);
  if (new Set(urls).size < urls.length)
    report.on('issuerNames', 'names two blocks of one issuer', 'tokens name their issuer, not a block');
  for (const { name, keyFile } of named) {
    const keys = keyFile === undefined ? undefined : readKeys(keyFile);
    if (keys && 'fault' in keys)
      report.phrase('issuers', keys.fault, { index: issuers.findIndex((issuer) => issuer.name === name) });
  }
}

/** Reports a resource without a URL, and an audience that is a resource without one. */
export function validateResource(
  { resource, audiences }: AuthJwtConfig,
  report: ConfigReport<AuthJwtConfig>,
  serverNames: readonly ServerName[] | undefined,
): void {
  const isOn = resource !== undefined && resource !== 'off';
  if (isOn && resource.url === undefined && serverNames && !hasUsableName(serverNames))
    report.on(
      'resource',
      'is on in a server without a name',
      'add "server_name", or give the URL of the resource',
    );
  if (audiences?.includes(RESOURCE) === true && !isOn)
    report.on('audiences', `names "${RESOURCE}" without "auth_jwt_resource"`);
}

/** Reports both families of names in one place, and files of nginz's directives that cannot be used. */
export function validateNginz(config: AuthJwtConfig, report: ConfigReport<AuthJwtConfig>): void {
  const { protection, secret, nginzKeys = [], revocations = [] } = config;
  if (protection && isOfNginz(config))
    report.on(
      secret ? 'secret' : 'nginzKeys',
      'stands beside "auth_jwt"',
      'use one family of names in one place',
    );
  for (const [index, { source, format }] of nginzKeys.entries()) {
    const keys = 'path' in source ? readKeys(source.path, format) : undefined;
    if (keys && 'fault' in keys) report.phrase('nginzKeys', keys.fault, { index });
  }
  for (const [index, { path }] of revocations.entries()) {
    const list = readRevocationList(path);
    if ('fault' in list) report.phrase('revocations', list.fault, { index });
  }
}

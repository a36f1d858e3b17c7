import {
  type AcmeCertificate,
  type AcmeIssuer,
  type AcmePlan,
  certificateId,
  type OnDemandRules,
} from '../acme/index.ts';

/** What a server says about certificates, when its names are known. */
export interface AcmeServer {
  /** All issuers of the configuration. */
  readonly issuers: readonly AcmeIssuer[];
  /** Absent if it has none but those on demand. */
  readonly certificate?: AcmeCertificate;
  /** For names that clients ask for. */
  readonly onDemand?: OnDemandRules;
  readonly cluster?: string | undefined;
  readonly zone?: { readonly name: string; readonly sizeBytes: number } | undefined;
}

/** The config of the module on server level, as far as others read it. */
export interface AcmeServerConfig {
  readonly served?: AcmeServer;
}

/** What a configuration says about certificates as a whole. */
export function acmePlanOf(servers: readonly AcmeServer[]): AcmePlan {
  const issuers = servers.flatMap((server) => server.issuers);
  const certificates = servers.flatMap(({ certificate }) => certificate ?? []);
  return {
    issuers: [...new Map(issuers.map((issuer) => [issuer.name, issuer])).values()],
    certificates: [...new Map(certificates.map((each) => [certificateId(each), each])).values()],
    onDemand: servers.flatMap(({ onDemand }) => onDemand ?? []),
    cluster: servers.find(({ cluster }) => cluster !== undefined)?.cluster,
  };
}

export { countLostLines } from './lost-lines.ts';
export {
  type Liveness,
  type LiveProblem,
  type LiveScope,
  moduleFor,
  type AnyModule,
  type Credentials,
  type ConfigFault,
  type ConfigReport,
  type ConfigSite,
  type HandshakeHandlers,
  type LocationParts,
  type OwnLocation,
  type OrderedPair,
  type PairPaths,
  type ModuleDefinition,
  type VariableDefinition,
  type VariableFamily,
  type WrittenFiles,
  type ZoneNeed,
  type ExplainedAction,
  type ExplainScope,
  type ExplainedFact,
  type ModuleExplanation,
  type Explainer,
  type ExplainedPhase,
  variableFacts,
  type VariableFacts,
} from './module.ts';
export type {
  Check,
  ConfigText,
  GatewayView,
  LoadFault,
  LocationView,
  RouteResult,
  RouteQuery,
  ServerView,
  MasterScope,
  ResourceScope,
  WorkerScope,
} from './scope.ts';
export { openIssuerDocuments } from './issuer-documents.ts';
export { type CertificateView, showCertificates } from './certificate-view.ts';
export { openStatementLists, type StatementList, type StatementView } from './statements.ts';
export { type AuthResult, compileAuthCounter, compileCounter } from './result-counter.ts';
export type { Build, LocationFacts } from './build.ts';
export { isSecretVariable, loggedCapture, loggedValue, loggedVariable } from './logged-value.ts';
export { countedAs, type CountedLocation, countedLocation } from './counted-location.ts';
export type {
  CoreConfig,
  DocumentRootConfig,
  EnvironmentVariable,
  ErrorLogTag,
  ErrorPageConfig,
  GzipProxied,
  HttpEngine,
  KeepaliveTimeout,
  ListenAddress,
  ListenConfig,
  LocationMatch,
  MimeTypes,
  NamedAddress,
  OldBrowser,
  RegexConfig,
  ServerName,
  TempPath,
  StickyKey,
  UpstreamConfig,
  UserConfig,
} from './core-config.ts';
export type { ProxyPassConfig, HeaderRule, LiteralTarget, PassTarget } from './proxy-pass-config.ts';
export type {
  BreakStep,
  Condition,
  FileTest,
  IfStep,
  RedirectStep,
  ReturnStep,
  RewriteConfig,
  RewriteStep,
  SetStep,
  Step,
} from './rewrite-config.ts';
export { acmePlanOf, type AcmeServer, type AcmeServerConfig } from './acme-config.ts';
export type { CacheConfig } from './cache-config.ts';
export type { ClusterConfig } from './cluster-config.ts';
export type { HealthConfig } from './health-config.ts';
export { conditionOf, configOf, matchOf, nodesOf } from './shared-configs.ts';
export {
  TICKET_KEY,
  type FileName,
  type OcspCache,
  type SessionCache,
  type SslConfig,
  type TlsVersion,
  type VerifyClient,
} from './ssl-config.ts';
export {
  ASKING_WHO,
  authIn,
  KEEP_OUT,
  UNKNOWN,
  type CheckedConfig,
  type CheckedModule,
  type Example,
  type Exposed,
  type MadeFile,
  type ModuleRule,
  type Problem,
  type Rule,
  type RuleSeverity,
  type Use,
} from './rule.ts';
export { missingSyslogHosts } from './syslog-hosts.ts';
export { forwards, headersSent, literalPasses, passes, targetOf, type Pass } from './proxy-passes.ts';
export {
  TrialRefusal,
  type CommandAccess,
  type PolicyAccess,
  type RelationAccess,
  type TrialApi,
  type TrialDescription,
  type TrialReason,
  type TrialReport,
  type TrialRequest,
  type TrialResource,
  type TrialResponse,
} from './trial.ts';

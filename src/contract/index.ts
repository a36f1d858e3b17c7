export type { LiveProblem, LiveScope } from './live.ts';
export { moduleFor } from './module.ts';
export type {
  AnyModule,
  ConfigFault,
  ConfigReport,
  LocationParts,
  ModuleDefinition,
  Sensitive,
  UpstreamNeed,
  VariableDefinition,
  VariableFamily,
  Written,
  ZoneNeed,
} from './module.ts';
export type { Check } from './check.ts';
export type { Build, LocationFacts } from './build.ts';
export type { Deed, ExplainScope, Fact, ModuleExplanation, Telling, ToldPhase } from './explanation.ts';
export type { ConfigText, Finding } from './config-text.ts';
export type { GatewayView, LocationView, RouteAnswer, RouteQuestion, ServerView } from './gateway-view.ts';
export type { MasterScope, ResourceScope, WorkerScope } from './scope.ts';
export type {
  CoreConfig,
  DocumentRootConfig,
  EnvironmentVariable,
  ErrorPageConfig,
  GzipProxied,
  KeepaliveTimeout,
  ListenAddress,
  ListenConfig,
  LocationMatch,
  MimeTypes,
  OldBrowser,
  RegexConfig,
  ServerName,
  TempPath,
  UpstreamConfig,
  UserConfig,
} from './core-config.ts';
export { TICKET_KEY } from './ssl-config.ts';
export type { FileName, SessionCache, SslConfig, TlsVersion, VerifyClient } from './ssl-config.ts';
export { variableFacts } from './variable-facts.ts';
export type { VariableFacts } from './variable-facts.ts';

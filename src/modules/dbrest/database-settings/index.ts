export { ConfigVersions, type ConfigVersion } from './config-versions.ts';
export { effectiveConfig } from './effective-config.ts';
export { ToldFindings } from './told-findings.ts';

export { ConfigVersions, ToldFindings } from './config-versions.ts';
export { effectiveConfig } from './effective-config.ts';
export { compileVersioned, type VersionedResources } from './versioned-location.ts';

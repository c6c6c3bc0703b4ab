import { cpSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ITable } from 'aws-cdk-lib/aws-dynamodb';
import type { ContainerImage } from 'aws-cdk-lib/aws-ecs';
import type { IEventBus } from 'aws-cdk-lib/aws-events';
import { Code, type IFunction } from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import { type ConfigInput, defineConfig } from '../../shared/config/config.ts';
import { writeConfigModules } from '../config-module.ts';
import { createParley } from '../parley-stack.ts';

interface ParleyProps extends Omit<ConfigInput, 'projects' | 'aws'> {
  /** Of the project `default`. */
  domains?: ConfigInput['projects'][string]['domains'];
  /** For more than one project. */
  projects?: ConfigInput['projects'];
  /** A part of all resource names: two in one account and region need two. */
  stage?: string;
  aws?: Partial<NonNullable<ConfigInput['aws']>>;
  /** With it, relays of projects run on Fargate. */
  relayImage?: ContainerImage;
  /** For `aws.waiter`: of `waiter/Dockerfile`. */
  waiterImage?: ContainerImage;
}

/** Beside this module in the package. */
const FUNCTIONS_FOLDER = join(import.meta.dirname, 'functions');

export class Parley extends Construct {
  /** Of the API. */
  readonly url: string;
  readonly table: ITable;
  /** Sets the key of an administrator. */
  readonly adminKeyFunction: IFunction;
  readonly #buses: ReadonlyMap<string, IEventBus>;

  constructor(scope: Construct, id: string, props: ParleyProps) {
    super(scope, id);
    const { domains, projects, stage = 'dev', aws, relayImage, waiterImage, ...rest } = props;
    const config = defineConfig({
      ...rest,
      projects: projects ?? { default: { domains: domains ?? {} } },
      aws: { ...aws, stage },
    });
    if (config.aws === undefined) throw new Error('a deployment has settings for AWS');
    const folder = mkdtempSync(join(tmpdir(), 'parley-cdk-'));
    cpSync(FUNCTIONS_FOLDER, folder, { recursive: true });
    writeConfigModules(folder, config);
    const { functions, table, buses, url } = createParley(this, {
      config,
      aws: config.aws,
      target: 'aws',
      code: (name) => Code.fromAsset(join(folder, name)),
      ...(relayImage && { relayImage: () => relayImage }),
      ...(waiterImage && { waiterImage: () => waiterImage }),
    });
    this.url = url ?? '';
    this.table = table;
    this.adminKeyFunction = functions['admin-key'].lambda;
    this.#buses = new Map(buses.map(({ project, bus }) => [project, bus]));
  }

  /** The events of a project. */
  getBus(project = 'default'): IEventBus {
    const bus = this.#buses.get(project);
    if (bus === undefined) throw new Error(`${this.node.path}: there is no project ${project}`);
    return bus;
  }
}

import { params, setParams } from '../../state/router.ts';
import { Tabs } from '../../ui/tabs.tsx';

export const EventTabs = () => (
  <div>
    <Tabs
      label="Which"
      options={[
        ['', 'Events'],
        ['messages', 'Message log'],
        ['changes', 'Bulk changes'],
      ]}
      value={params.value.get('show') ?? ''}
      onChange={(show) => setParams({ show })}
    />
  </div>
);

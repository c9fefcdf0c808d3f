// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sensors: the board's temperature, and the light that each link receives and sends.
 *
 *   temp1           board, milli-degree
 *   power1, 3, 5, 7 received by link 0..3; power2, 4, 6, 8 sent. Microwatt; the board measures nW
 */
#include <linux/hwmon.h>

#include "nanet3_drv.h"

static umode_t nanet3_is_visible(const void *context, enum hwmon_sensor_types type, u32 attr,
				 int channel)
{
	return 0444;
}

static u32 nanet3_power_register(int channel)
{
	return NANET3_REG_LINK((u32)channel / 2,
			       channel % 2 ? NANET3_LREG_TX_POWER : NANET3_LREG_RX_POWER);
}

static int nanet3_read_number(struct device *hwmon, enum hwmon_sensor_types type, u32 attr,
			      int channel, long *ret_value)
{
	struct nanet3_dev *dev = dev_get_drvdata(hwmon);
	bool power = type == hwmon_power;
	int r = -ENODEV;
	u32 value;

	down_read(&dev->life);
	if (dev->state == NANET3_READY) {
		value = nanet3_read(dev, power ? nanet3_power_register(channel)
					       : NANET3_REG_TEMPERATURE);
		if (value != NANET3_ALL_ONES || nanet3_answers(dev)) {
			*ret_value = power ? (long)DIV_ROUND_CLOSEST(value, 1000u) : (s32)value;
			r = 0;
		}
	}
	up_read(&dev->life);
	return r;
}

static const char *const power_labels[] = {
	"link0 rx", "link0 tx", "link1 rx", "link1 tx",
	"link2 rx", "link2 tx", "link3 rx", "link3 tx",
};

static_assert(ARRAY_SIZE(power_labels) == 2 * NANET3_LINKS);

static int nanet3_read_string(struct device *hwmon, enum hwmon_sensor_types type, u32 attr,
			      int channel, const char **ret_text)
{
	*ret_text = type == hwmon_power ? power_labels[channel] : "board";
	return 0;
}

static const struct hwmon_ops ops = {
	.is_visible = nanet3_is_visible,
	.read = nanet3_read_number,
	.read_string = nanet3_read_string,
};

#define POWER (HWMON_P_INPUT | HWMON_P_LABEL)

static const struct hwmon_channel_info *info[] = {
	HWMON_CHANNEL_INFO(temp, HWMON_T_INPUT | HWMON_T_LABEL),
	HWMON_CHANNEL_INFO(power, POWER, POWER, POWER, POWER, POWER, POWER, POWER, POWER),
	NULL,
};

static const struct hwmon_chip_info chip = {
	.ops = &ops,
	.info = info,
};

/* Register the sensors. A kernel without hwmon has none. */
void nanet3_hwmon_create(struct nanet3_dev *dev)
{
	struct device *hwmon;

	if (!IS_REACHABLE(CONFIG_HWMON))
		return;
	hwmon = hwmon_device_register_with_info(&dev->pdev->dev, NANET3_NAME, dev, &chip, NULL);
	if (IS_ERR(hwmon))
		dev_warn(&dev->device, "no sensors: %ld\n", PTR_ERR(hwmon));
	else
		dev->hwmon = hwmon;
}

void nanet3_hwmon_destroy(struct nanet3_dev *dev)
{
	if (IS_REACHABLE(CONFIG_HWMON) && dev->hwmon)
		hwmon_device_unregister(dev->hwmon);
	dev->hwmon = NULL;
}

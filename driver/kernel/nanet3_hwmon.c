// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sensors: the board's temperature, and the light that each link receives and sends.
 *
 *   temp1           board, milli-degree
 *   power1, 3, 5, 7 received by link 0..3; power2, 4, 6, 8 sent. Microwatt; the board measures nW
 *
 * Limits are those at which fcm-server warns and alarms (schemas/parameters.conf).
 */
#include <linux/hwmon.h>

#include "nanet3_drv.h"

#define TEMPERATURE_MAX	 75000l /* milli-degree: warm */
#define TEMPERATURE_CRIT 85000l /* too hot */
#define RX_POWER_MIN	 1l	/* uW: no light */

static bool nanet3_is_tx_power(int channel)
{
	return channel % 2;
}

static umode_t nanet3_is_visible(const void *context, enum hwmon_sensor_types type, u32 attr,
				 int channel)
{
	return 0444;
}

static u32 nanet3_sensor(enum hwmon_sensor_types type, int channel)
{
	if (type != hwmon_power)
		return NANET3_REG_TEMPERATURE;
	return NANET3_REG_LINK((u32)channel / 2, nanet3_is_tx_power(channel)
							 ? NANET3_LREG_TX_POWER
							 : NANET3_LREG_RX_POWER);
}

/* Milli-degree or uW, or -ENODEV. */
static int nanet3_measure(struct nanet3_dev *dev, enum hwmon_sensor_types type, int channel,
			  long *ret_value)
{
	int r = -ENODEV;
	u32 value;

	down_read(&dev->life);
	if (dev->state == NANET3_READY) {
		value = nanet3_read(dev, nanet3_sensor(type, channel));
		if (value != NANET3_ALL_ONES || nanet3_answers(dev)) {
			*ret_value = type == hwmon_power ? (long)DIV_ROUND_CLOSEST(value, 1000u)
							 : (s32)value;
			r = 0;
		}
	}
	up_read(&dev->life);
	return r;
}

static int nanet3_temperature(struct nanet3_dev *dev, u32 attr, long *ret_value)
{
	long now = 0;
	int r = 0;

	if (attr != hwmon_temp_max && attr != hwmon_temp_crit)
		r = nanet3_measure(dev, hwmon_temp, 0, &now);
	switch (attr) {
	case hwmon_temp_max:
		*ret_value = TEMPERATURE_MAX;
		break;
	case hwmon_temp_crit:
		*ret_value = TEMPERATURE_CRIT;
		break;
	case hwmon_temp_max_alarm:
		*ret_value = now > TEMPERATURE_MAX;
		break;
	case hwmon_temp_crit_alarm:
		*ret_value = now > TEMPERATURE_CRIT;
		break;
	default:
		*ret_value = now;
		break;
	}
	return r;
}

static int nanet3_power(struct nanet3_dev *dev, u32 attr, int channel, long *ret_value)
{
	long now = 0;
	int r = 0;

	if (attr != hwmon_power_min)
		r = nanet3_measure(dev, hwmon_power, channel, &now);
	switch (attr) {
	case hwmon_power_min:
		*ret_value = RX_POWER_MIN;
		break;
	case hwmon_power_min_alarm:
		*ret_value = now < RX_POWER_MIN;
		break;
	default:
		*ret_value = now;
		break;
	}
	return r;
}

static int nanet3_read_number(struct device *hwmon, enum hwmon_sensor_types type, u32 attr,
			      int channel, long *ret_value)
{
	struct nanet3_dev *dev = dev_get_drvdata(hwmon);

	if (type == hwmon_temp)
		return nanet3_temperature(dev, attr, ret_value);
	return nanet3_power(dev, attr, channel, ret_value);
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

#define TEMPERATURE                                                                                \
	(HWMON_T_INPUT | HWMON_T_LABEL | HWMON_T_MAX | HWMON_T_CRIT | HWMON_T_MAX_ALARM |          \
	 HWMON_T_CRIT_ALARM)
#define RX_POWER (HWMON_P_INPUT | HWMON_P_LABEL | HWMON_P_MIN | HWMON_P_MIN_ALARM)
#define TX_POWER (HWMON_P_INPUT | HWMON_P_LABEL)

static const struct hwmon_channel_info *info[] = {
	HWMON_CHANNEL_INFO(temp, TEMPERATURE),
	HWMON_CHANNEL_INFO(power, RX_POWER, TX_POWER, RX_POWER, TX_POWER, RX_POWER, TX_POWER,
			   RX_POWER, TX_POWER),
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
